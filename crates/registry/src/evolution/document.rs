//! Loads a schema document into the arena of spots: dialect, references, keywords.
//!
//! Invariant: no recursion, every spot is loaded once, and a document that loads has no reference that leads nowhere,
//! leaves the document, or returns to itself without entering a field or an item.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::canonical::{escape, measure, type_name};
use super::error::{Error, Fault, Side};
use super::kind::Kinds;
use super::limits::{SCHEMA_DEPTH_MAX, SUBSCHEMAS_MAX};
use super::reader::Reader;
use super::reference::{Target, resolve};
use super::spot::{
    ArrayKeywords, ArrayLayer, Conditional, Contains, Count, Draft, Keywords, ObjectKeywords, ObjectLayer, Spot,
    SpotId, Values,
};

static ANY_STRING: LazyLock<Value> = LazyLock::new(|| json!({"type": "string"}));
static ANYTHING: Value = Value::Bool(true);
static NOTHING: Value = Value::Bool(false);

/// Spots of both documents, after three of the gate's own.
pub(super) struct Arena<'a> {
    pub(super) spots: Vec<Spot<'a>>,
}

/// `true`.
pub(super) const ANYTHING_SPOT: SpotId = 0;
/// `{"type": "string"}`: what a field's name always is.
pub(super) const STRING_SPOT: SpotId = 1;
/// `false`.
pub(super) const NOTHING_SPOT: SpotId = 2;

impl<'a> Arena<'a> {
    pub(super) fn new() -> Result<Self, Error> {
        let mut arena = Self { spots: Vec::new() };
        arena.load(Side::Old, &ANYTHING)?;
        arena.load(Side::Old, &ANY_STRING)?;
        arena.load(Side::Old, &NOTHING)?;
        Ok(arena)
    }

    /// Loads a document and returns the spot of its root.
    pub(super) fn load(&mut self, side: Side, root: &'a Value) -> Result<SpotId, Error> {
        measure(side, root)?;
        let draft = draft_of(side, root)?;
        let mut loader = Loader { arena: self, root, side, draft, index: HashMap::new(), queue: VecDeque::new() };
        let first = loader.intern(String::new(), root, 0)?;
        while let Some(spot) = loader.queue.pop_front() {
            loader.parse(spot)?;
        }
        super::guard::refuse_loops(&self.spots, first)?;
        super::unevaluated::settle(&mut self.spots, first);
        super::rewrite::settle(self, first);
        Ok(first)
    }

    /// A spot of the gate's own that admits these values, at the place of another spot.
    pub(super) fn enumerated(&mut self, like: SpotId, values: Values<'a>) -> SpotId {
        let id = SpotId::try_from(self.spots.len()).expect("the bounds on subschemas and steps are far below u32::MAX");
        let Spot { side, draft, depth, .. } = *self.spot(like);
        let pointer = self.spot(like).pointer.clone();
        let keywords = Keywords { values: Some(values), ..Keywords::default() };
        self.spots.push(Spot { side, pointer, depth, source: &ANYTHING, draft, keywords });
        id
    }

    pub(super) fn spot(&self, id: SpotId) -> &Spot<'a> {
        &self.spots[id as usize]
    }
}

fn draft_of(side: Side, root: &Value) -> Result<Draft, Error> {
    let Some(dialect) = root.get("$schema") else { return Ok(Draft::TwentyTwenty) };
    let text = dialect.as_str().unwrap_or_default();
    match text.trim_end_matches('#') {
        "https://json-schema.org/draft/2020-12/schema" | "http://json-schema.org/draft/2020-12/schema" => {
            Ok(Draft::TwentyTwenty)
        }
        "http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema" => Ok(Draft::Seven),
        _ => Err(Error::new(side, "/$schema", Fault::UnsupportedDialect { dialect: dialect.to_string() })),
    }
}

struct Loader<'a, 'm> {
    arena: &'m mut Arena<'a>,
    root: &'a Value,
    side: Side,
    draft: Draft,
    index: HashMap<String, SpotId>,
    queue: VecDeque<SpotId>,
}

impl<'a> Loader<'a, '_> {
    fn intern(&mut self, pointer: String, source: &'a Value, depth: usize) -> Result<SpotId, Error> {
        if let Some(known) = self.index.get(&pointer) {
            return Ok(*known);
        }
        if depth > SCHEMA_DEPTH_MAX {
            return Err(Error::new(self.side, pointer, Fault::TooDeep { limit: SCHEMA_DEPTH_MAX }));
        }
        if self.arena.spots.len() >= SUBSCHEMAS_MAX {
            return Err(Error::new(self.side, pointer, Fault::TooLarge { what: "subschemas", limit: SUBSCHEMAS_MAX }));
        }
        let id = SpotId::try_from(self.arena.spots.len()).expect("the bound on subschemas is far below u32::MAX");
        self.index.insert(pointer.clone(), id);
        self.queue.push_back(id);
        let (side, draft) = (self.side, self.draft);
        self.arena.spots.push(Spot { side, pointer, depth, source, draft, keywords: Keywords::default() });
        Ok(id)
    }

    fn parse(&mut self, id: SpotId) -> Result<(), Error> {
        let spot = self.arena.spot(id);
        let (source, pointer, depth) = (spot.source, spot.pointer.clone(), spot.depth);
        let keywords = match source {
            Value::Bool(true) => Keywords::default(),
            Value::Bool(false) => Keywords { kinds: Kinds::NONE, ..Keywords::default() },
            Value::Object(fields) => {
                let reader = Reader { fields, side: self.side, pointer: &pointer };
                self.keywords(reader, depth)?
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(Error::new(self.side, pointer, Fault::NotASchema { found: type_name(source) }));
            }
        };
        self.arena.spots[id as usize].keywords = keywords;
        Ok(())
    }

    fn keywords(&mut self, reader: Reader<'a, '_>, depth: usize) -> Result<Keywords<'a>, Error> {
        self.refuse_nested_identifier(&reader)?;
        let reference = self.reference(&reader, "$ref")?;
        if reference.is_some() && self.draft == Draft::Seven {
            return Ok(Keywords { reference, ..Keywords::default() });
        }
        let (kinds, integer) = reader.kinds()?;
        let mut keywords = Keywords {
            kinds,
            integer,
            reference,
            values: reader.values()?,
            minimum: reader.bound("minimum", "exclusiveMinimum", true)?,
            maximum: reader.bound("maximum", "exclusiveMaximum", false)?,
            multiple_of: reader.multiple_of()?,
            length: reader.count("minLength", "maxLength")?,
            pattern: reader.text("pattern")?.filter(|pattern| !super::pattern::admits_everything(pattern)),
            format: reader.text("format")?,
            array: self.array(&reader, depth)?,
            object: self.object(&reader, depth)?,
            all_of: self.children(&reader, "allOf", depth)?,
            any_of: self.children(&reader, "anyOf", depth)?,
            one_of: self.children(&reader, "oneOf", depth)?,
            not: self.child(&reader, "not", depth)?,
            conditional: self.conditional(&reader, depth)?,
            dependent_schemas: self.dependent_schemas(&reader, depth)?,
            ..Keywords::default()
        };
        if self.draft == Draft::TwentyTwenty {
            keywords.unevaluated_properties = self.child(&reader, "unevaluatedProperties", depth)?;
            keywords.unevaluated_items = self.child(&reader, "unevaluatedItems", depth)?;
            keywords.all_of.extend(self.reference(&reader, "$dynamicRef")?);
        }
        Ok(keywords)
    }

    fn refuse_nested_identifier(&self, reader: &Reader<'a, '_>) -> Result<(), Error> {
        let nested = reader.text("$id")?.is_some_and(|id| !(self.draft == Draft::Seven && id.starts_with('#')));
        if nested && !reader.pointer.is_empty() {
            return Err(Error::new(self.side, reader.pointer, Fault::NestedIdentifier));
        }
        Ok(())
    }

    /// What a reference leads to. A document is one resource, for an `$id` below its root is refused; so the outermost
    /// resource in which a `$dynamicRef` looks for its anchor is this document, and it means what a `$ref` would.
    fn reference(&mut self, reader: &Reader<'a, '_>, keyword: &str) -> Result<Option<SpotId>, Error> {
        let Some(reference) = reader.text(keyword)? else { return Ok(None) };
        match resolve(self.root, self.draft, reference) {
            Ok(Target { pointer, value, depth }) => self.intern(pointer, value, depth).map(Some),
            Err(fault) => Err(Error::new(self.side, format!("{}/{keyword}", reader.pointer), fault)),
        }
    }

    fn child(&mut self, reader: &Reader<'a, '_>, keyword: &str, depth: usize) -> Result<Option<SpotId>, Error> {
        reader
            .get(keyword)
            .map(|value| self.intern(format!("{}/{keyword}", reader.pointer), value, depth + 1))
            .transpose()
    }

    fn list(
        &mut self,
        reader: &Reader<'a, '_>,
        keyword: &str,
        items: &'a [Value],
        depth: usize,
    ) -> Result<Vec<SpotId>, Error> {
        let place = |index: usize| format!("{}/{keyword}/{index}", reader.pointer);
        items.iter().enumerate().map(|(index, item)| self.intern(place(index), item, depth + 1)).collect()
    }

    fn children(&mut self, reader: &Reader<'a, '_>, keyword: &str, depth: usize) -> Result<Vec<SpotId>, Error> {
        match reader.array(keyword)? {
            None => Ok(Vec::new()),
            Some(items) if items.is_empty() => Err(reader.malformed(keyword, "a list of at least one schema")),
            Some(items) => self.list(reader, keyword, items, depth),
        }
    }

    fn named<'k>(
        &mut self,
        reader: &Reader<'a, '_>,
        keyword: &str,
        entries: impl Iterator<Item = (&'k String, &'a Value)>,
        depth: usize,
    ) -> Result<BTreeMap<&'k str, SpotId>, Error> {
        entries
            .map(|(name, value)| {
                let pointer = format!("{}/{keyword}/{}", reader.pointer, escape(name));
                Ok((name.as_str(), self.intern(pointer, value, depth + 1)?))
            })
            .collect()
    }

    fn array(&mut self, reader: &Reader<'a, '_>, depth: usize) -> Result<Option<Box<ArrayKeywords>>, Error> {
        let (prefix, rest) = match (self.draft, reader.get("items")) {
            (Draft::Seven, Some(Value::Array(items))) => {
                (self.list(reader, "items", items, depth)?, self.child(reader, "additionalItems", depth)?)
            }
            (Draft::Seven, _) => (Vec::new(), self.child(reader, "items", depth)?),
            (Draft::TwentyTwenty, Some(Value::Array(_))) => {
                return Err(reader.malformed("items", "a schema; positions go under `prefixItems`"));
            }
            (Draft::TwentyTwenty, _) => {
                (self.children(reader, "prefixItems", depth)?, self.child(reader, "items", depth)?)
            }
        };
        let contains = self.contains(reader, depth)?;
        let (count, unique) = (reader.count("minItems", "maxItems")?, reader.flag("uniqueItems")?);
        let says_positions = !prefix.is_empty() || rest.is_some();
        if !says_positions && contains.is_none() && count == Count::default() && !unique {
            return Ok(None);
        }
        let layers = if says_positions { vec![Rc::new(ArrayLayer { prefix, rest })] } else { Vec::new() };
        Ok(Some(Box::new(ArrayKeywords { layers, contains, count, unique })))
    }

    fn contains(&mut self, reader: &Reader<'a, '_>, depth: usize) -> Result<Option<Contains>, Error> {
        let Some(schema) = self.child(reader, "contains", depth)? else { return Ok(None) };
        let once = Count { min: 1, max: None };
        let count = match self.draft {
            Draft::Seven => once,
            Draft::TwentyTwenty => {
                let count = reader.count("minContains", "maxContains")?;
                if reader.get("minContains").is_none() { Count { min: 1, ..count } } else { count }
            }
        };
        Ok(Some(Contains { schema, count }))
    }

    fn object(&mut self, reader: &Reader<'a, '_>, depth: usize) -> Result<Option<Box<ObjectKeywords<'a>>>, Error> {
        let properties = match reader.object("properties")? {
            Some(fields) => self.named(reader, "properties", fields.iter(), depth)?,
            None => Default::default(),
        };
        let patterns = match reader.object("patternProperties")? {
            Some(fields) => self.named(reader, "patternProperties", fields.iter(), depth)?,
            None => Default::default(),
        };
        let additional = self.child(reader, "additionalProperties", depth)?;
        let required = match reader.get("required") {
            Some(value) => reader.names("required", value)?,
            None => Default::default(),
        };
        let keywords = ObjectKeywords {
            names: self.child(reader, "propertyNames", depth)?,
            required,
            dependent_required: self.dependent_required(reader)?,
            count: reader.count("minProperties", "maxProperties")?,
            layers: Vec::new(),
        };
        let says_fields = !properties.is_empty() || !patterns.is_empty() || additional.is_some();
        let says_more = keywords.names.is_some()
            || !keywords.required.is_empty()
            || !keywords.dependent_required.is_empty()
            || keywords.count != Count::default();
        if !says_fields && !says_more {
            return Ok(None);
        }
        let layers =
            if says_fields { vec![Rc::new(ObjectLayer { properties, patterns, additional })] } else { Vec::new() };
        Ok(Some(Box::new(ObjectKeywords { layers, ..keywords })))
    }

    fn dependencies_keyword(&self) -> &'static str {
        match self.draft {
            Draft::Seven => "dependencies",
            Draft::TwentyTwenty => "dependentRequired",
        }
    }

    fn dependent_required(&self, reader: &Reader<'a, '_>) -> Result<BTreeMap<&'a str, BTreeSet<&'a str>>, Error> {
        let keyword = self.dependencies_keyword();
        let Some(fields) = reader.object(keyword)? else { return Ok(Default::default()) };
        let lists = fields.iter().filter(|(_, value)| self.draft == Draft::TwentyTwenty || value.is_array());
        let parsed: Result<BTreeMap<_, _>, Error> =
            lists.map(|(name, value)| Ok((name.as_str(), reader.names(keyword, value)?))).collect();
        Ok(parsed?.into_iter().filter(|(_, names)| !names.is_empty()).collect())
    }

    fn dependent_schemas(&mut self, reader: &Reader<'a, '_>, depth: usize) -> Result<BTreeMap<&'a str, SpotId>, Error> {
        let keyword = match self.draft {
            Draft::Seven => "dependencies",
            Draft::TwentyTwenty => "dependentSchemas",
        };
        let Some(fields) = reader.object(keyword)? else { return Ok(Default::default()) };
        let schemas = fields.iter().filter(|(_, value)| !value.is_array() || self.draft == Draft::TwentyTwenty);
        let schemas: Vec<_> = schemas.collect();
        self.named(reader, keyword, schemas.into_iter(), depth)
    }

    fn conditional(&mut self, reader: &Reader<'a, '_>, depth: usize) -> Result<Option<Conditional>, Error> {
        let Some(test) = self.child(reader, "if", depth)? else { return Ok(None) };
        let (then, otherwise) = (self.child(reader, "then", depth)?, self.child(reader, "else", depth)?);
        Ok(Some(Conditional { test, then, otherwise }))
    }
}
