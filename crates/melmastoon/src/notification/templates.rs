//! What messages say: one file a language, as data; a text names its places in braces.
//!
//! Invariant: every language has every template with the places of the English one, and nothing is left in braces in a text that
//! is sent. Not here: who is written to (`decide`).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::events::Channel;
use crate::values::Locale;

/// The languages, the last resort first.
const BOOKS: [(&str, &str); 3] = [
    (LAST_RESORT, include_str!("templates/en.json")),
    ("ps", include_str!("templates/ps.json")),
    ("fa-AF", include_str!("templates/fa-AF.json")),
];
/// The language that has every template.
pub const LAST_RESORT: &str = "en";

/// What one message says in one language.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Its version, which counts up when its words change.
    pub version: u32,
    /// The ways it goes.
    pub channels: Vec<Channel>,
    /// The subject of the mail.
    pub subject: String,
    /// The mail.
    pub mail: String,
    /// Everything else.
    pub short: String,
}

type Book = BTreeMap<String, Template>;

/// All templates by language.
fn shelf() -> &'static BTreeMap<&'static str, Book> {
    static SHELF: OnceLock<BTreeMap<&'static str, Book>> = OnceLock::new();
    SHELF.get_or_init(|| {
        let read = |text| serde_json::from_str(text).expect("a test reads the files of templates");
        BOOKS.iter().map(|(locale, text)| (*locale, read(text))).collect()
    })
}

/// A template in the first language of a chain that has it: the language itself, then without its region, then the next; English
/// at last.
pub fn find(name: &str, chain: &[Locale]) -> Option<(Locale, &'static Template)> {
    let spellings = chain.iter().map(ToString::to_string).flat_map(|locale| {
        let language = locale.split('-').next().unwrap_or_default().to_owned();
        [locale, language]
    });
    let spellings = spellings.chain([LAST_RESORT.to_owned()]);
    let mut found =
        spellings.filter_map(|locale| Some((locale.parse().ok()?, shelf().get(locale.as_str())?.get(name)?)));
    found.next()
}

/// A text with its places filled. A place that nobody fills is left out.
pub fn fill(text: &str, values: &BTreeMap<&'static str, String>) -> String {
    let mut filled = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (place, after) = after.split_once('}').unwrap_or((after, ""));
        filled.push_str(values.get(place).map_or("", String::as_str));
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{LAST_RESORT, Template, find, shelf};
    use crate::values::Locale;

    fn places(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).map(|rest| rest.split_once('}').expect("a brace that closes").0).collect()
    }

    #[test]
    fn every_language_has_every_template_with_the_same_places_and_ways() {
        let english = &shelf()[LAST_RESORT];
        for (locale, book) in shelf() {
            assert_eq!(book.keys().collect::<Vec<_>>(), english.keys().collect::<Vec<_>>(), "{locale}");
            for (name, template) in book {
                let of = |template: &Template| {
                    (places(&template.subject).len(), template.channels.clone(), template.version)
                };
                assert_eq!(of(template), of(&english[name]), "{locale} {name}");
                assert_eq!(places(&template.mail), places(&english[name].mail), "{locale} {name}");
                assert_eq!(places(&template.short), places(&english[name].short), "{locale} {name}");
            }
        }
    }

    /// the chain is followed string by string; a region falls back to its language.
    #[test]
    fn a_template_is_found_in_the_first_language_that_has_it() {
        let chain = |locales: &[&str]| -> Vec<Locale> { locales.iter().map(|it| it.parse().unwrap()).collect() };
        for (locales, expected) in
            [(&["ps"][..], "ps"), (&["ps-AF"], "ps"), (&["tg", "fa-AF", "en"], "fa-AF"), (&["de"], "en"), (&[], "en")]
        {
            let (locale, _) = find("key_delivery", &chain(locales)).expect("it is there");
            assert_eq!(locale.to_string(), expected, "{locales:?}");
        }
        assert!(find("no_such_template", &[]).is_none());
    }
}
