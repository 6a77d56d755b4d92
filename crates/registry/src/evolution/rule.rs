//! The named rules. Each has one severity, one direction and one page, `docs/rules/<id>.md`.

use serde::{Serialize, Serializer};

use super::report::{Direction, Severity};

/// The remedy of everything that a version of a subject does not allow.
const NEW_VERSION: &str = "keep the old form, or ship the next version of the subject (.v<n+1>) and dual-publish both";
/// The remedy of everything that past events decide.
const AUDIT: &str = "audit at least the last 30 days of events against the new schema, or keep the old form";
/// The remedy of everything that the gate does not decide.
const REVIEW: &str =
    "the gate does not decide this construct: review it by hand and audit past events, or keep it as it was";
/// The remedy of a promise to consumers that no longer holds.
const CONSUMERS: &str = "check that no consumer counts on what may now be missing, or keep the old form";
/// The remedy of what would be breaking, were it not for something undecided beside it.
pub(super) const REVIEW_BESIDE: &str = "breaking, unless a construct beside it that the gate does not decide says the same as before: review it by hand, or keep the old form";
const NOTHING: &str = "nothing to do; the content hash changes";

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident $id:literal $severity:ident $direction:ident $remedy:expr, $summary:literal;)*) => {
        /// A rule of the gate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $(#[doc = $summary] $name,)* }

        impl Rule {
            /// Kebab-case name, also the name of its page.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// Every rule, in the order of the index page.
            pub fn all() -> &'static [Self] {
                &[$(Self::$name,)*]
            }

            /// One sentence: what the rule reports.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$name => $summary,)* }
            }

            /// How much a finding of this rule weighs.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// Who a finding of this rule affects.
            pub fn direction(self) -> Direction {
                match self { $(Self::$name => Direction::$direction,)* }
            }

            /// What to do about a finding of this rule.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy,)* }
            }
        }
    };
}

rules! {
    FieldRemoved "field-removed" Breaking Consume NEW_VERSION, "A declared field is gone.";
    FieldForbidden "field-forbidden" Breaking Replay NEW_VERSION, "A field that old events may carry is refused.";
    FieldRenamed "field-renamed" Breaking Both NEW_VERSION, "A field is gone and another of the same schema appeared beside it.";
    FieldMadeRequired "field-made-required" Breaking Replay NEW_VERSION, "An optional field is now required.";
    RequiredFieldAdded "required-field-added" Breaking Replay
        "make the field optional and give it a default, or ship the next version of the subject (.v<n+1>) and dual-publish both",
        "A new field is required.";
    FieldMadeOptional "field-made-optional" Breaking Consume NEW_VERSION, "A required field is now optional.";
    OptionalFieldAdded "optional-field-added" Note Consume NOTHING, "An optional field was added where old events could not carry it.";
    FieldWithoutDefault "field-without-default" Note Consume
        "give the field a `default`, so that readers of old events agree on what its absence means",
        "An added optional field has no default.";
    FieldAddedToOpenModel "field-added-to-open-model" Audit Replay
        "audit past events for this name, or close the old model (`additionalProperties: false`) in the next version",
        "A constrained field was added to an object that allowed any field, so old events may hold anything under its name.";
    FieldNotCoveredByMap "field-not-covered-by-map" Breaking Both NEW_VERSION,
        "A field was added to a map, or to a partly open object, whose value schema does not agree with it.";
    ModelClosed "model-closed" Breaking Replay NEW_VERSION, "Fields that were allowed without being declared are now refused.";
    ModelOpened "model-opened" Note Consume NOTHING, "Fields beyond the declared ones are now allowed.";
    PatternFieldsAdded "pattern-fields-added" Note Consume NOTHING, "A `patternProperties` entry was added where such names were refused.";
    PatternFieldsAddedToOpenModel "pattern-fields-added-to-open-model" Audit Replay AUDIT,
        "A `patternProperties` entry constrains names that were allowed before.";
    PatternFieldsRemoved "pattern-fields-removed" Breaking Both NEW_VERSION, "A `patternProperties` entry is gone.";
    PatternMatchUndecided "pattern-match-undecided" Audit Both REVIEW,
        "Whether a `patternProperties` pattern covers a field could not be decided.";
    DependentRequiredAdded "dependent-required-added" Breaking Replay NEW_VERSION, "A field is now required whenever another is present.";
    DependentRequiredRemoved "dependent-required-removed" Breaking Consume NEW_VERSION,
        "A field is no longer required when another is present.";
    PropertyCountTightened "property-count-tightened" Audit Replay AUDIT, "`minProperties` or `maxProperties` was tightened.";
    PropertyCountWidened "property-count-widened" Note Consume NOTHING, "`maxProperties` was relaxed.";
    PropertyMinimumLowered "property-minimum-lowered" Audit Consume CONSUMERS,
        "`minProperties` was relaxed, so fields of which some were always there may now all be missing.";

    TypeChanged "type-changed" Breaking Both NEW_VERSION, "A value has another type.";
    TypeNarrowed "type-narrowed" Breaking Replay NEW_VERSION, "A type that old events may use is no longer accepted.";
    TypeWidened "type-widened" Breaking Consume NEW_VERSION, "A type that old consumers never saw is now possible.";
    EnumNarrowed "enum-narrowed" Breaking Replay NEW_VERSION, "A value that old events may hold is no longer accepted.";
    EnumWidened "enum-widened" Note Consume
        "document the new values in CHANGELOG.events.md; consumers ignore values they do not know",
        "Values were added to an enumeration.";
    ConstChanged "const-changed" Breaking Both NEW_VERSION, "A constant has another value.";

    RangeTightened "range-tightened" Audit Replay AUDIT, "A numeric range was tightened.";
    RangeWidened "range-widened" Note Consume NOTHING, "A numeric range was widened.";
    MultipleOfTightened "multiple-of-tightened" Audit Replay AUDIT, "`multipleOf` was added or made coarser.";
    MultipleOfWidened "multiple-of-widened" Note Consume NOTHING, "`multipleOf` was removed or made finer.";
    LengthTightened "length-tightened" Audit Replay AUDIT, "A string length was tightened.";
    LengthWidened "length-widened" Note Consume NOTHING, "A string length was widened.";
    PatternTightened "pattern-tightened" Audit Replay AUDIT, "A `pattern` was added or changed.";
    PatternWidened "pattern-widened" Note Consume NOTHING, "A `pattern` was removed.";
    FormatTightened "format-tightened" Audit Replay AUDIT, "A `format` was added or changed.";
    FormatWidened "format-widened" Note Consume NOTHING, "A `format` was removed, or an integer format made wider.";
    SemanticsChanged "semantics-changed" Breaking Both NEW_VERSION, "The encoding or media type of a text changed.";

    ItemCountTightened "item-count-tightened" Audit Replay AUDIT, "`minItems` or `maxItems` was tightened.";
    ItemCountWidened "item-count-widened" Note Consume NOTHING, "`maxItems` was relaxed.";
    ItemMinimumLowered "item-minimum-lowered" Audit Consume CONSUMERS,
        "`minItems` was relaxed, so items that were always there may now be missing.";
    UniqueItemsRequired "unique-items-required" Audit Replay AUDIT, "Items must now be unique.";
    UniqueItemsLifted "unique-items-lifted" Audit Consume
        "check that no consumer counts on distinct items, or keep the old form", "Items may now repeat.";
    ContainsTightened "contains-tightened" Audit Replay AUDIT, "`contains` was added or changed.";
    ContainsWidened "contains-widened" Note Consume NOTHING, "`maxContains` was relaxed.";
    ContainsLowered "contains-lowered" Audit Consume CONSUMERS,
        "`contains` or `minContains` was relaxed, so an item that was always there may now be missing.";
    TuplePositionAdded "tuple-position-added" Note Consume NOTHING, "A position was added to a closed tuple.";
    TuplePositionAddedToOpenModel "tuple-position-added-to-open-model" Audit Replay AUDIT,
        "A constrained position was added to a tuple that allowed any further item.";
    TuplePositionRemoved "tuple-position-removed" Breaking Both NEW_VERSION, "A declared tuple position is gone.";
    TuplePositionMadeOptional "tuple-position-made-optional" Breaking Consume NEW_VERSION,
        "A tuple position that was always present may now be missing.";
    ArrayClosed "array-closed" Breaking Replay NEW_VERSION, "Items that were allowed are now refused.";
    ArrayOpened "array-opened" Note Consume NOTHING, "Items beyond the declared positions are now allowed.";

    UnionBranchRemoved "union-branch-removed" Breaking Replay NEW_VERSION, "A branch of a union is gone.";
    UnionBranchAdded "union-branch-added" Note Consume
        "document the new variant in CHANGELOG.events.md; consumers ignore variants they do not know",
        "A branch was added to a union, and a consumer can tell it apart.";
    UnionBranchUntagged "union-branch-untagged" Audit Consume
        "give every branch a required `const` field that names it, or check each consumer by hand",
        "A branch was added to a union, and nothing tells it apart from the old ones.";
    UnionOverlapUndecided "union-overlap-undecided" Audit Both REVIEW,
        "The branches of a changed `oneOf` may overlap, so an old event may now match two.";
    UnionUndecided "union-undecided" Audit Both REVIEW, "A changed union has too many combinations to compare.";
    NotUndecided "not-undecided" Audit Both REVIEW, "`not` differs.";
    ConditionalUndecided "conditional-undecided" Audit Both REVIEW, "`if`, `then` or `else` differs.";
    DependentSchemasUndecided "dependent-schemas-undecided" Audit Both REVIEW, "`dependentSchemas` differs.";
    UnevaluatedUndecided "unevaluated-undecided" Audit Both REVIEW,
        "`unevaluatedProperties` or `unevaluatedItems`, or what it depends on, differs.";

    DefaultChanged "default-changed" Note Consume
        "check that readers of old events may take the new default for an absent field",
        "A `default` was added, changed or removed.";
    PiiChanged "pii-changed" Note Consume
        "check retention, redaction and export of events already stored: they follow the old annotation",
        "The annotation of personal data, `x-pii`, or of payments, `x-payment`, changed.";
    DeprecationChanged "deprecation-changed" Note Consume
        "publish the replacement beside it for at least one release, with a deprecation header",
        "`deprecated` was set or lifted.";
    UnknownKeywordChanged "unknown-keyword-changed" Note Both
        "check the spelling: an unknown keyword constrains nothing",
        "A keyword that JSON Schema does not define changed.";
    ForeignKeywordChanged "foreign-keyword-changed" Audit Both
        "spell the constraint in the schema's own dialect; validators disagree on keywords of another",
        "A keyword of another dialect changed.";

    SubjectAdded "subject-added" Note Consume NOTHING, "A subject was added.";
    SubjectRemoved "subject-removed" Breaking Both
        "keep the subject; retire it only when no consumer registers it, dual publishing has lasted one release and two weeks, and its subscriptions show zero deliveries for 7 days",
        "A subject is gone.";
    VersionAdded "version-added" Note Consume
        "dual-publish both versions for one release and at least two weeks, and add the dual-publish entry to the runbook",
        "A subject has a new version beside the old one.";
    VersionUnchanged "version-unchanged" Note Consume
        "a new version costs every consumer a cut-over: drop it unless the meaning changed",
        "A new version has the same schema as the one before.";
    AliasRemoved "alias-removed" Breaking Both
        "keep the alias: it is a published name that consumers may subscribe by",
        "An alias of a subject is gone.";
    AliasAdded "alias-added" Note Both NOTHING, "A subject has one more alias.";
    OrderingKeyChanged "ordering-key-changed" Breaking Both NEW_VERSION,
        "Events of one aggregate would no longer share their ordering key with those before.";
    IdempotencyKeyChanged "idempotency-key-changed" Breaking Both NEW_VERSION,
        "A repetition would no longer be recognised by the key of the first.";
    OwnerChanged "owner-changed" Breaking Both
        "let the new owner publish a subject of its own, and dual-publish until consumers have moved",
        "Another service decides the fact.";
    TenancyChanged "tenancy-changed" Breaking Both NEW_VERSION, "The event belongs to somebody else.";
    RetentionShortened "retention-shortened" Audit Both
        "check who replays or is obliged to keep events of this age, or keep the class",
        "Events are kept for a shorter time.";
    MerkleDropped "merkle-dropped" Audit Both
        "check who relies on proofs of this event, or keep it anchored",
        "The event is no longer anchored in the Merkle tree.";
    ChangelogEntryMissing "changelog-entry-missing" Breaking Consume
        "add a line about the subject to CHANGELOG.events.md",
        "An enum was widened without a line in the changelog of events.";
    DualPublishEntryMissing "dual-publish-entry-missing" Breaking Consume
        "add a line with the subject and \"dual publish\" to the description of the change",
        "A version was added without announcing that both are published.";
    FindingsTruncated "findings-truncated" Note Both
        "fix the listed findings first, or compare the parts separately",
        "More findings than the report lists.";
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
