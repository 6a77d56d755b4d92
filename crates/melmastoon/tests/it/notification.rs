//! Messages to guests: on every way they can be reached, in their language, with a record of what became of each.

use std::sync::Arc;

use karwan::Work;
use karwan::envelope::time::Clock as _;
use melmastoon::notification::events::{
    BounceReason, Channel, MessageBounced, MessageDelivered, MessageDispatched, MessagePurpose,
};
use melmastoon::notification::port::{Notice, Told};
use melmastoon::notification::{self as notification, commands, work};
use melmastoon::values::RefundRule;

use crate::desk::{Desk, Post, run};
use crate::told;

async fn desk(post: &Arc<Post>) -> Desk {
    Desk::open(notification::kinds(), work::work(Work::new(), post.clone())).await
}

fn context() -> karwan::Context {
    karwan::context(notification::SERVICE, 1)
}

/// mail, SMS and WhatsApp, in the guest's language.
#[test]
fn a_confirmation_goes_all_three_ways_in_the_guests_language() {
    run(async || {
        let post = Arc::new(Post::default());
        let desk = desk(&post).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        let dispatched = desk.told::<MessageDispatched>().await;
        let mut ways: Vec<Channel> = dispatched.iter().map(|message| message.channel).collect();
        ways.sort_by_key(|way| format!("{way:?}"));
        assert_eq!(ways, [Channel::Email, Channel::Sms, Channel::Whatsapp]);
        assert!(dispatched.iter().all(|message| message.locale.to_string() == "ps"));
        assert!(dispatched.iter().all(|message| message.purpose == MessagePurpose::BookingConfirmation));
        let taken = post.taken.lock().expect("nobody panics").clone();
        let mail = taken.iter().find(|message| message.channel == Channel::Email).expect("a mail");
        assert_eq!(mail.to, "zarghuna@example.af");
        assert!(mail.text.contains("Zarghuna Anaa") && mail.text.contains("110.00 AFN"), "{}", mail.text);
        assert!(mail.subject.as_deref().is_some_and(|subject| subject.contains("Kabul Serai")));
        assert!(taken.iter().all(|message| !message.text.contains('{')), "{taken:?}");
        assert!(taken.iter().filter(|it| it.channel != Channel::Email).all(|it| it.to == "+93700123456"));
        desk.close().await;
    });
}

/// string by string, down the tenant's chain.
#[test]
fn a_guest_whose_language_nobody_wrote_reads_the_tenants() {
    run(async || {
        let post = Arc::new(Post::default());
        let desk = desk(&post).await;
        let mut settings = told::settings();
        settings.locales = ["tg", "fa-AF", "ps"].map(|text| text.parse().expect("a locale")).to_vec();
        desk.tell(&told::settings_changed(2, settings)).await;
        desk.settle().await;
        let mut booking = told::confirmed(10);
        booking.guest.preferred_locale = "uz-Arab".parse().expect("a locale");
        booking.guest.phone = None;
        desk.tell(&booking).await;
        desk.settle().await;
        let dispatched = desk.told::<MessageDispatched>().await;
        let said: Vec<_> = dispatched.iter().map(|message| (message.channel, message.locale.to_string())).collect();
        assert_eq!(said, [(Channel::Email, "fa-AF".to_owned())], "and nothing to a telephone that is not there");
        desk.close().await;
    });
}

///
#[test]
fn who_pays_on_arrival_brings_cash_and_who_cancels_late_gets_nothing_back() {
    run(async || {
        let post = Arc::new(Post::default());
        let desk = desk(&post).await;
        let booking = told::confirmed_in_cash(10);
        desk.tell(&booking).await;
        desk.settle().await;
        let mut cancelled = told::cancelled(&booking);
        cancelled.refund.refundable = false;
        cancelled.refund.rule = RefundRule::LateCancellation;
        desk.tell(&cancelled).await;
        desk.settle().await;
        let dispatched = desk.told::<MessageDispatched>().await;
        let mut said: Vec<_> =
            dispatched.iter().map(|it| (it.template.as_str(), format!("{:?}", it.channel))).collect();
        said.sort();
        let expected = [
            ("booking_cancellation_kept", "Email"),
            ("booking_cancellation_kept", "Sms"),
            ("booking_confirmation_cash", "Email"),
            ("booking_confirmation_cash", "Sms"),
            ("booking_confirmation_cash", "Whatsapp"),
        ];
        assert_eq!(said, expected.map(|(template, way)| (template, way.to_owned())));
        desk.close().await;
    });
}

/// R-382; a stay that will not happen gets no key.
#[test]
fn a_key_is_brought_to_the_guest_of_a_stay_that_stands() {
    run(async || {
        let post = Arc::new(Post::default());
        let desk = desk(&post).await;
        let (stands, falls) = (told::confirmed(10), told::confirmed(11));
        desk.tell(&stands).await;
        desk.tell(&falls).await;
        desk.tell(&told::cancelled(&falls)).await;
        desk.settle().await;
        desk.tell(&told::key_issued(&stands)).await;
        desk.tell(&told::key_issued(&falls)).await;
        desk.settle().await;
        let keys: Vec<_> = desk.told::<MessageDispatched>().await;
        let keys: Vec<_> = keys.iter().filter(|message| message.purpose == MessagePurpose::KeyDelivery).collect();
        assert_eq!(keys.len(), 3);
        assert!(keys.iter().all(|message| message.reservation_id == Some(stands.reservation_id)));
        let taken = post.taken.lock().expect("nobody panics").clone();
        assert!(taken.iter().any(|message| message.text.contains("melmastoon://keys/8")));
        desk.close().await;
    });
}

#[test]
fn a_provider_may_tell_before_its_answer_after_it_and_twice() {
    run(async || {
        let post = Arc::new(Post::default());
        post.closed.lock().expect("nobody panics").push(Channel::Whatsapp);
        let desk = desk(&post).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        let bounced = desk.told::<MessageBounced>().await;
        assert_eq!(
            bounced.iter().map(|it| (it.channel, it.reason, it.permanent)).collect::<Vec<_>>(),
            [(Channel::Whatsapp, BounceReason::UnknownAddress, true)]
        );
        let mail = desk.told::<MessageDispatched>().await;
        let mail = mail.iter().find(|message| message.channel == Channel::Email).expect("a mail").message_id;
        let notice = Notice {
            notice_id: "n-1".to_owned(),
            message: mail,
            at: told::at(told::may(1), "00:01:00"),
            told: Told::Delivered,
        };
        let mut news = Vec::new();
        for _ in 0..2 {
            news.push(commands::hear(desk.place.store(), &context(), &notice).await.expect("it is heard"));
        }
        assert_eq!(news, [true, false]);
        assert_eq!(desk.told::<MessageDelivered>().await.len(), 1);
        let about = commands::about(desk.place.store(), &context(), told::reservation(10)).await.expect("records");
        let mut states: Vec<_> = about.iter().map(|message| message.state.name()).collect();
        states.sort_unstable();
        assert_eq!(states, ["bounced", "delivered", "dispatched"]);
        let stray = Notice { message: told::id(77), ..notice };
        assert!(commands::hear(desk.place.store(), &context(), &stray).await.is_err(), "there is no such message");
        desk.close().await;
    });
}

/// Neither address nor text is in an event.
#[test]
fn no_event_says_where_a_guest_is_reached() {
    run(async || {
        let post = Arc::new(Post::default());
        let desk = desk(&post).await;
        let booking = told::confirmed(10);
        desk.tell(&booking).await;
        desk.settle().await;
        let own = desk.log().await.into_iter().filter(|it| it.producer.service == notification::SERVICE);
        let own: Vec<_> = own.collect();
        assert_eq!(own.len(), 3);
        for envelope in own {
            let said = envelope.payload.get();
            assert!(!said.contains("example.af") && !said.contains("+93") && !said.contains("Zarghuna"), "{said}");
        }
        desk.close().await;
    });
}

/// A carrier that calls the request wrong would call it so again: the message is lost, and says so.
#[test]
fn a_message_that_the_carrier_calls_wrong_bounces() {
    run(async || {
        let post = Arc::new(Post::default());
        post.wrong.store(true, std::sync::atomic::Ordering::Relaxed);
        let desk = desk(&post).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        let bounced = desk.told::<MessageBounced>().await;
        assert_eq!(bounced.iter().map(|message| message.reason).collect::<Vec<_>>(), [BounceReason::Rejected; 3]);
        assert_eq!(desk.place.store().dead_effects("notification.send", 0, 10).await.expect("it answers"), []);
        desk.close().await;
    });
}

/// What a carrier tells by itself belongs to the booking's trace, not to the webhook's.
#[test]
fn a_notice_stays_in_the_trace_of_its_message() {
    run(async || {
        let post = Arc::new(Post::default());
        let desk = desk(&post).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        let message = desk.told::<MessageDispatched>().await[0].message_id;
        let notice =
            Notice { notice_id: "n-1".to_owned(), message, at: desk.place.clock().now(), told: Told::Delivered };
        assert!(commands::hear(desk.place.store(), &context(), &notice).await.expect("it is heard"));
        let log = desk.log().await;
        let of = |end: &str| log.iter().find(|it| it.subject.as_str().ends_with(end)).expect("it was told");
        let (confirmed, delivered) = (of("booking.confirmed.v1"), of("message.delivered.v1"));
        assert_eq!(delivered.cause.correlation, confirmed.cause.correlation);
        assert_eq!(delivered.cause.causation, Some(confirmed.id));
        desk.close().await;
    });
}
