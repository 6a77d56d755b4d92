//! What commands are configured with: `karwan.toml`, then `KARWAN_*`, then flags; the last one that speaks wins.
//!
//! Passwords never reach a message: an address is printed masked, and a broken file is not quoted.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use karwan_store::Address;
use karwan_store::address::masked;

use crate::exit::Failure;
use crate::input;
use crate::up::place;

/// The file in the working directory.
const FILE: &str = "karwan.toml";
/// Longer, and a follower would seem dead.
const POLL_MS_MAX: u64 = 60_000;

/// A value that can be configured.
pub struct Key {
    /// Its name in the file; in the environment it is `KARWAN_<NAME>`.
    pub name: &'static str,
    /// What it is where nobody says anything; none where somebody must.
    pub default: Option<&'static str>,
    /// What it means.
    pub meaning: &'static str,
    /// How it is written in the example.
    pub example: &'static str,
}

/// Everything that can be configured; each is read by a command.
pub const KEYS: [Key; 4] = [
    Key {
        name: "store",
        default: None,
        meaning: "Where the store is: sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE.",
        example: "\"sqlite:karwan.db\"",
    },
    Key {
        name: "tail_poll_ms_min",
        default: Some("50"),
        meaning: "How often `karwan log tail --follow` looks while rows arrive, in milliseconds.",
        example: "50",
    },
    Key {
        name: "tail_poll_ms_max",
        default: Some("500"),
        meaning: "And how seldom when nothing has happened for a while.",
        example: "500",
    },
    Key {
        name: "broker",
        default: None,
        meaning: "Where the broker is: nats://USER:PASSWORD@HOST:PORT or tls://HOST:PORT?ca=FILE; several with commas between.",
        example: "\"nats://localhost:4222\"",
    },
];

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A file.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
    /// A flag.
    Flag(&'static str),
    /// A node in this directory.
    Node(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
            Self::Node(folder) => write!(f, "the node in {}", folder.display()),
        }
    }
}

/// The flags that every command with a store has.
#[derive(clap::Args, Clone)]
pub struct Flags {
    /// Where the store is: sqlite:PATH or postgres://…
    // A text, and not an address: what cannot be parsed would be quoted with its password.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Where a node has its data: its store is meant, where none is named [default: karwan-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Read this file instead of ./karwan.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Flags {
    /// The directory of a node.
    pub fn data(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| PathBuf::from(place::DEFAULT))
    }

    /// The flag with which another command finds the same directory; nothing where it finds it by itself.
    pub fn data_flag(&self) -> String {
        let other = self.data.as_deref().filter(|data| *data != Path::new(place::DEFAULT));
        other.map(|data| format!(" --data {}", word(&data.display().to_string()))).unwrap_or_default()
    }

    /// The flag with which another command reads the same file; nothing where none was named.
    pub fn config_flag(&self) -> String {
        let named = self.config.as_deref();
        named.map(|path| format!(" --config {}", word(&path.display().to_string()))).unwrap_or_default()
    }

    /// The store of the node in the directory: the one that it says it uses, or the file that it has left.
    fn store_of_node(&self) -> Option<String> {
        let (folder, file) = (self.data(), self.data().join(place::STORE));
        let left = || file.is_file().then(|| format!("sqlite:{}", file.display()));
        place::card(&folder).ok().map(|card| card.store).or_else(left)
    }
}

/// The flag that every command with a broker has.
#[derive(clap::Args, Clone)]
pub struct BrokerFlags {
    /// Where the broker is: nats://HOST:PORT, or tls://HOST:PORT?ca=FILE&creds=FILE
    // A text, and not an address: what cannot be parsed would be quoted with its password.
    #[arg(long, value_name = "URL")]
    broker: Option<String>,
}

impl BrokerFlags {
    /// Where the broker is; somebody must have said so. It may hold a password: never print it.
    pub fn url(&self, settings: &Settings) -> Result<String, Failure> {
        if let Some(url) = &self.broker {
            let cause = url.parse::<karwan_broker::Address>().err().map(karwan_broker::Error::from);
            return match cause {
                Some(cause) => {
                    let code = cause.code();
                    Err(Failure::usage(anyhow::Error::from(cause).context("`broker` (--broker) is wrong")).coded(code))
                }
                None => Ok(url.clone()),
            };
        }
        settings.broker().ok_or_else(|| {
            let ways = "name it with --broker URL, KARWAN_BROKER or `broker = …` in karwan.toml";
            Failure::usage(anyhow!("which broker? {ways} (nats://HOST:PORT or tls://…; see --help)"))
        })
    }

    /// The flag with which another command finds the same broker; nothing where it finds it by itself. Passwords are left out.
    pub fn flag(&self) -> String {
        let given = self.broker.as_deref().and_then(|url| url.parse::<karwan_broker::Address>().ok());
        given.map(|address| format!(" --broker {}", word(&address.to_string()))).unwrap_or_default()
    }

    /// Whether the flag itself was given.
    pub const fn is_given(&self) -> bool {
        self.broker.is_some()
    }

    /// Where the broker is, if somebody has said so.
    pub fn given(&self, settings: &Settings) -> Result<Option<String>, Failure> {
        if self.broker.is_none() && settings.broker().is_none() {
            return Ok(None);
        }
        self.url(settings).map(Some)
    }
}

/// One value.
pub struct Setting {
    /// What it is.
    pub key: &'static Key,
    /// As it was written.
    text: Option<String>,
    /// Who said so.
    pub origin: Origin,
}

/// All values.
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Asks the file, the environment and the flags, and judges every value.
    pub fn load(flags: &Flags) -> Result<Self, Failure> {
        let table = match &flags.config {
            Some(path) => Some((path.clone(), read(path)?)),
            None if Path::new(FILE).is_file() => Some((PathBuf::from(FILE), read(Path::new(FILE))?)),
            None => None,
        };
        let settings = Self(KEYS.iter().map(|key| setting(key, flags, table.as_ref())).collect::<Result<_, _>>()?);
        for setting in settings.all() {
            setting.judge()?;
        }
        let (min, max) = settings.tail_poll_ms()?;
        if min > max {
            return Err(Failure::input(anyhow!("tail_poll_ms_min is {min}, and tail_poll_ms_max only {max}")));
        }
        Ok(settings)
    }

    /// Each of them.
    pub fn all(&self) -> &[Setting] {
        &self.0
    }

    /// Where the store is; somebody must have said so.
    pub fn store(&self) -> Result<Address, Failure> {
        let named = self.0.iter().find(|setting| setting.key.name == "store");
        named.map(Setting::address).transpose()?.flatten().ok_or_else(|| {
            let ways =
                "name it with --store URL, KARWAN_STORE or `store = …` in karwan.toml, or start a node (karwan up)";
            Failure::usage(anyhow!("which store? {ways} (sqlite:PATH or postgres://…; see --help)"))
        })
    }

    /// Where the store is, if somebody has named one; the directory of a node names none.
    pub fn named_store(&self) -> Result<Option<Address>, Failure> {
        let named = |setting: &&Setting| setting.key.name == "store" && !matches!(setting.origin, Origin::Node(_));
        self.0.iter().find(named).map_or(Ok(None), Setting::address)
    }

    /// Where the broker is, by the file or the environment.
    fn broker(&self) -> Option<String> {
        self.0.iter().find(|setting| setting.key.name == "broker")?.text.clone()
    }

    /// The flag with which another command finds the same store; nothing where it finds it by itself. Passwords are masked.
    pub fn store_flag(&self) -> String {
        let named =
            self.0.iter().find(|setting| setting.key.name == "store" && setting.origin == Origin::Flag("--store"));
        named.and_then(Setting::shown).map(|shown| format!(" --store {}", word(&shown))).unwrap_or_default()
    }

    /// How often a follower looks at most, and at least, in milliseconds.
    pub fn tail_poll_ms(&self) -> Result<(u64, u64), Failure> {
        let of = |name: &str| {
            let setting = self.0.iter().find(|setting| setting.key.name == name);
            setting.expect("it stands in the list of keys").milliseconds()
        };
        Ok((of("tail_poll_ms_min")?, of("tail_poll_ms_max")?))
    }
}

impl Setting {
    /// As it may be printed.
    pub fn shown(&self) -> Option<String> {
        self.text.as_deref().map(|text| match self.key.name {
            "store" => masked(text),
            "broker" => text.parse::<karwan_broker::Address>().map_or_else(|_| "***".to_owned(), |it| it.to_string()),
            _ => text.to_owned(),
        })
    }

    fn judge(&self) -> Result<(), Failure> {
        match self.key.name {
            "store" => self.address().map(drop),
            "broker" => self.broker(),
            _ => self.milliseconds().map(drop),
        }
    }

    fn address(&self) -> Result<Option<Address>, Failure> {
        let Some(text) = &self.text else { return Ok(None) };
        let parsed = text.parse::<Address>();
        parsed.map(Some).map_err(|cause| {
            let code = karwan_store::Error::from(cause.clone()).code();
            self.wrong(cause.into()).coded(code)
        })
    }

    fn broker(&self) -> Result<(), Failure> {
        let parsed = self.text.as_deref().map(str::parse::<karwan_broker::Address>).transpose();
        parsed.map(drop).map_err(|cause| {
            let code = karwan_broker::Error::from(cause.clone()).code();
            self.wrong(cause.into()).coded(code)
        })
    }

    fn milliseconds(&self) -> Result<u64, Failure> {
        let text = self.text.as_deref().unwrap_or_default();
        let good = text.parse().ok().filter(|ms| (1..=POLL_MS_MAX).contains(ms));
        good.ok_or_else(|| self.wrong(anyhow!("`{text}` is no number of milliseconds from 1 to {POLL_MS_MAX}")))
    }

    /// A flag is the caller's, everything else was written before.
    fn wrong(&self, cause: anyhow::Error) -> Failure {
        let cause = cause.context(format!("`{}` ({}) is wrong", self.key.name, self.origin));
        if matches!(self.origin, Origin::Flag(_)) { Failure::usage(cause) } else { Failure::input(cause) }
    }
}

/// A word as a shell takes it.
pub fn word(text: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./:@%+=,".contains(it);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn setting(key: &'static Key, flags: &Flags, table: Option<&(PathBuf, toml::Table)>) -> Result<Setting, Failure> {
    if let Some(text) = flags.store.clone().filter(|_| key.name == "store") {
        return Ok(Setting { key, text: Some(text), origin: Origin::Flag("--store") });
    }
    let variable = format!("KARWAN_{}", key.name.to_uppercase());
    if let Some(text) = std::env::var(&variable).ok().filter(|text| !text.is_empty()) {
        return Ok(Setting { key, text: Some(text), origin: Origin::Environment(variable) });
    }
    if let Some((path, value)) = table.and_then(|(path, table)| Some((path, table.get(key.name)?))) {
        let text = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            _ => {
                return Err(Failure::input(anyhow!("{}: `{}` is neither text nor a number", path.display(), key.name)));
            }
        };
        return Ok(Setting { key, text: Some(text), origin: Origin::File(path.clone()) });
    }
    if key.name == "store"
        && let Some(text) = flags.store_of_node()
    {
        return Ok(Setting { key, text: Some(text), origin: Origin::Node(flags.data()) });
    }
    Ok(Setting { key, text: key.default.map(str::to_owned), origin: Origin::Default })
}

fn read(path: &Path) -> Result<toml::Table, Failure> {
    let name = path.display();
    let bytes = input::read(path)?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::input(anyhow!("{name} is not UTF-8")))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
        Failure::input(anyhow!("{name}, line {line}: {}", error.message()))
    })?;
    let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    let unknown: Vec<String> =
        table.keys().filter(|key| !known.contains(&key.as_str())).map(|key| format!("`{key}`")).collect();
    if unknown.is_empty() {
        return Ok(table);
    }
    let (unknown, known) = (unknown.join(", "), known.join(", "));
    Err(Failure::input(anyhow!("{name}: nothing is called {unknown}; there are {known}")))
}
