//! How far long work is: a bar on standard error, where that is a terminal.

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar; invisible where nobody watches. Clones are the same bar, and it goes with the last of them.
#[derive(Clone)]
pub struct Progress(Arc<Bar>);

struct Bar(ProgressBar);

impl Progress {
    /// A bar that does not know its length yet.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
        bar.set_style(style.expect("the template is well-formed"));
        Self(Arc::new(Bar(bar)))
    }

    /// So much of so much is done.
    pub fn tell(&self, what: &str, done: u64, total: u64) {
        let bar = &self.0.0;
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(what.to_owned());
    }

    /// So much more is done.
    pub fn advance(&self, more: u64) {
        self.0.0.inc(more);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
