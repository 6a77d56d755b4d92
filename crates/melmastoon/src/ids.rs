//! The platform's public ids: `<prefix>_<ulid>`, one Rust type a kind. Raw UUIDs, counters and vendor references are
//! never exposed.

use karwan::envelope::cause::Tenant;
use karwan::envelope::ids::{Id, Kind, TenantId};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $id:ident $prefix:literal)*) => {$(
        #[doc = concat!("The kind of [`", stringify!($id), "`].")]
        #[derive(Debug)]
        pub enum $kind {}
        impl Kind for $kind {
            const PREFIX: &'static str = $prefix;
        }
        $(#[$doc])*
        pub type $id = Id<$kind>;
    )*};
}

// The first block are the prefixes that documents 002 and 004 use; the second was decided here.
kinds! {
    /// A bound device: desktop, tablet, phone.
    Device DeviceId "dev"
    /// A reservation.
    Reservation ReservationId "rsv"
    /// A property.
    Property PropertyId "ppt"
    /// A room type.
    RoomType RoomTypeId "rmt"
    /// A room unit.
    Room RoomId "rmu"
    /// A rate plan.
    RatePlan RatePlanId "rate"
    /// A booking intent of the funnel.
    BookingIntent BookingIntentId "bki"
    /// A running saga.
    Saga SagaId "sga"
    /// A staff member.
    Staff StaffId "stf"
    /// A media asset.
    Media MediaId "med"
    /// A folio.
    Folio FolioId "fol"
    /// A key credential.
    KeyCredential KeyCredentialId "key"
    /// A webhook or message delivery.
    Delivery DeliveryId "dlv"
    /// A housekeeping task.
    HousekeepingTask HousekeepingTaskId "hkt"
    /// A guest.
    Guest GuestId "gst"
    /// A payment method token.
    PaymentMethod PaymentMethodId "pmt"
    /// A payment intent.
    PaymentIntent PaymentIntentId "pay"
    /// A user account.
    User UserId "usr"
    /// A lock device.
    LockDevice LockDeviceId "lck"
    /// A staff master key.
    MasterKey MasterKeyId "mky"
    /// A door-access attempt.
    AccessAttempt AccessAttemptId "kca"
    /// An inbound vendor webhook.
    VendorWebhook VendorWebhookId "whk"
    /// A vendor adapter.
    VendorAdapter VendorAdapterId "vad"
    /// A card-encoder session.
    EncoderSession EncoderSessionId "enc"
    /// A single-use token reference.
    Token TokenId "tk"
    /// A credential issued provisionally on an offline device.
    ProvisionalKey ProvisionalKeyId "prov_keycred"
}

kinds! {
    /// A login session.
    Session SessionId "ses"
    /// An enrolled second factor.
    MfaFactor MfaFactorId "mfa"
    /// A user's membership in a tenant.
    Membership MembershipId "mbr"
    /// A theme preset.
    ThemePreset ThemePresetId "thp"
    /// A theme content block.
    ContentBlock ContentBlockId "cbk"
    /// An inventory allocation.
    Allocation AllocationId "alc"
    /// A stop-sell.
    StopSell StopSellId "sts"
    /// A price quote.
    Quote QuoteId "qte"
    /// A folio line.
    FolioLine FolioLineId "fln"
    /// An invoice.
    Invoice InvoiceId "inv"
    /// A refund.
    Refund RefundId "rfd"
    /// A maintenance ticket.
    MaintenanceTicket MaintenanceTicketId "mnt"
    /// An outbound message.
    Message MessageId "msg"
    /// An AI completion or local inference.
    Completion CompletionId "cpl"
    /// A detected anomaly.
    Anomaly AnomalyId "anm"
    /// A human decision about an AI proposal.
    HumanDecision HumanDecisionId "hit"
    /// A stored file.
    File FileId "fil"
    /// A report.
    Report ReportId "rpt"
    /// An analytics snapshot.
    Snapshot SnapshotId "snp"
    /// An audit entry.
    AuditEntry AuditEntryId "aud"
    /// A sync conflict.
    Conflict ConflictId "cfl"
    /// A staff shift.
    Shift ShiftId "shf"
}

/// The tenant that a call to the outside is made for. The platform itself asks no vendor for anything.
pub fn tenant_of(tenant: Tenant) -> TenantId {
    match tenant {
        Tenant::One(id) => id,
        Tenant::Platform => TenantId::from_bits(0),
    }
}
