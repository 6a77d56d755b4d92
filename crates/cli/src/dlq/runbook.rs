//! Which commands follow from what the runbook advises.

use karwan_store::operator::{Action, Class, LetterStory, State, Verb};

use super::desk::Desk;

/// What may be done to a letter, best first: commands to be pasted, each with what it is for.
pub fn remedies(desk: &Desk, story: &LetterStory) -> Vec<(&'static str, String)> {
    const WHY: &str = " --reason 'WHY'";
    let target = &story.letter.target;
    let command = |verb: &str, rest: &str| desk.command(verb, target, &format!("{rest}{WHY}"));
    if matches!(story.letter.state, State::Skipped | State::Quarantined) {
        let set_aside =
            |action: &&Action| matches!(action.verb, Verb::Skip | Verb::Quarantine) && action.undone_by.is_none();
        let aside = story.actions.iter().rev().find(set_aside);
        let undo = aside.map(|action| desk.any_command(&format!("dlq undo {}{WHY}", action.id)));
        return undo.map(|undo| ("bring it back", undo)).into_iter().collect();
    }
    let retry = ("try it now", command("retry", ""));
    let repair = ("replace its payload and try it", command("repair", " --payload FILE"));
    let skip = ("pass it over; its key goes on", command("skip", ""));
    let quarantine = ("lock it away for forensics", command("quarantine", " --dir FOLDER"));
    let delete = ("delete it for good", command("delete", " --sign-off NAME"));
    if target.is_effect() {
        return vec![retry, skip, quarantine, delete];
    }
    match story.class {
        Class::SchemaDrift => vec![repair, quarantine, skip, delete],
        Class::Poisoned => vec![quarantine, repair, skip, delete],
        Class::VendorOutage | Class::Transient | Class::ConsumerBug => vec![retry, repair, skip, quarantine],
    }
}
