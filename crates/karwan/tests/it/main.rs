//! The façade as a stranger uses it: the examples run, and what tests of one's own need works.

#[path = "../../../../examples/01-hello/main.rs"]
mod hello;

#[test]
fn the_first_example_runs() {
    hello::main().expect("it runs");
}
