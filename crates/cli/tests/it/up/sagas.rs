//! `karwan saga list` with more to list than it shows.

use super::{Node, begin};
use crate::folder::Folder;

#[test]
fn what_is_not_listed_is_counted() {
    let folder = Folder::new();
    let data = folder.at("data");
    // Everybody knows of rooms and prices; then nobody gives rooms.
    assert_eq!(Node::up(&data, &[]).stop(), Some(0));
    let node = Node::up(&data, &["--services", "reservation,pricing,payment"]);
    for _ in 0..3 {
        begin(&node, None);
    }
    let listed = |words: &[&str]| node.karwan(&[&["saga", "list", "--format", "json"], words].concat()).exits(0);
    let rows = |words: &[&str]| listed(words).json().as_array().expect("rows").len();
    assert_eq!(rows(&[]), 3);
    assert_eq!(rows(&["--limit", "1"]), 1);
    listed(&["--limit", "1"]).says("there are 2 more; --limit shows more, --stuck fewer");
    let all = listed(&["--limit", "3"]);
    assert!(!all.stderr.contains("more"), "{}", all.stderr);
    assert_eq!(rows(&["--stuck"]), 0, "they are under way, and nobody has to act");
    assert_eq!(node.stop(), Some(0));
}
