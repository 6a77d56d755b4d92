//! Reads the interfaces of the document: as much of TypeScript as they use.

/// A field of an interface or of an object literal.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub optional: bool,
    pub of: Type,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// `string`, `number`, `boolean`, or a type that is named and not shown.
    Named(String),
    /// `'a' | 'b'`.
    Literals(Vec<String>),
    /// `Activity | StatementRef`.
    AnyOf(Vec<String>),
    List(Box<Type>),
    Object(Vec<Field>),
}

/// The fields of `interface Name { … }`; panics on anything that the document does not use.
pub fn parse_interface(text: &str) -> Vec<Field> {
    let (_, rest) = text.split_once("interface ").unwrap_or_else(|| panic!("no interface in {text}"));
    let mut tokens = Tokens(rest);
    tokens.word();
    let fields = tokens.fields();
    assert!(tokens.peek().is_none(), "{text}: something follows the interface");
    fields
}

struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    fn peek(&mut self) -> Option<char> {
        self.0 = self.0.trim_start();
        self.0.chars().next()
    }

    fn take_if(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(mark);
        if found {
            self.0 = &self.0[mark.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, mark: char) {
        assert!(self.take_if(mark), "`{mark}` expected at: {}", self.0);
    }

    fn word(&mut self) -> &'a str {
        self.0 = self.0.trim_start();
        let end = self.0.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(self.0.len());
        assert!(end > 0, "a name expected at: {}", self.0);
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }

    fn fields(&mut self) -> Vec<Field> {
        self.expect('{');
        let mut fields = Vec::new();
        while !self.take_if('}') {
            let name = self.word().to_owned();
            let optional = self.take_if('?');
            self.expect(':');
            fields.push(Field { name, optional, of: self.union() });
            self.take_if(';');
        }
        fields
    }

    fn union(&mut self) -> Type {
        if self.peek() == Some('\'') {
            let mut literals = vec![self.literal()];
            while self.take_if('|') {
                literals.push(self.literal());
            }
            return Type::Literals(literals);
        }
        let first = self.one();
        let Type::Named(name) = &first else { return first };
        let mut names = vec![name.clone()];
        while self.take_if('|') {
            names.push(self.word().to_owned());
        }
        if names.len() == 1 { first } else { Type::AnyOf(names) }
    }

    fn one(&mut self) -> Type {
        let mut of = match self.peek() {
            Some('{') => Type::Object(self.fields()),
            _ => Type::Named(self.word().to_owned()),
        };
        while self.take_if('[') {
            self.expect(']');
            of = Type::List(Box::new(of));
        }
        of
    }

    fn literal(&mut self) -> String {
        self.expect('\'');
        let (literal, rest) = self.0.split_once('\'').expect("a literal ends with a quote");
        self.0 = rest;
        literal.to_owned()
    }
}

#[test]
fn nested_objects_lists_and_unions_are_read() {
    let fields = parse_interface("interface A { a?: 'x' | 'y.z'; b: { c: D[]; e: F | G }[]; }");
    let named = |name: &str| Type::Named(name.to_owned());
    let field = |name: &str, optional, of| Field { name: name.to_owned(), optional, of };
    let inner = vec![
        field("c", false, Type::List(Box::new(named("D")))),
        field("e", false, Type::AnyOf(vec!["F".to_owned(), "G".to_owned()])),
    ];
    let expected = vec![
        field("a", true, Type::Literals(vec!["x".to_owned(), "y.z".to_owned()])),
        field("b", false, Type::List(Box::new(Type::Object(inner)))),
    ];
    assert_eq!(fields, expected);
}
