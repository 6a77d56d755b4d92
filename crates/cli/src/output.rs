//! Where things are printed, and in which colours.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// Prints data.
pub fn data(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Prints data as indented JSON.
pub fn json(data: &impl Serialize) -> io::Result<()> {
    self::data(&serde_json::to_string_pretty(data)?)
}

/// Prints what is not data. Nobody may be listening, and that is no failure.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Whether a failure only means that the reader went away.
pub fn pipe_closed(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|it| it.kind() == io::ErrorKind::BrokenPipe)
}

/// Colours on a terminal, none elsewhere or where `NO_COLOR` is set.
#[derive(Clone, Copy)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output.
    pub fn stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { on: io::stdout().is_terminal() && !refused }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Rows under a header, columns as wide as their widest cell; the last one is not padded.
pub fn table(header: &[&str], rows: &[Vec<String>], paint: Paint) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let mut text = paint.bold(&line(&header));
    for row in rows {
        text.push('\n');
        text.push_str(&line(row));
    }
    text
}
