//! The configuration file as a layer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use figment::value::Value;
use serde_saphyr::Spanned;

use super::erb::Template;
use super::layers::Layer;
use super::nearest::nearest;
use super::node::Content;
use super::rule::Mismatch;
use super::yaml::{self, Raw, Resolver};
use super::{EnvVars, Key, LoadError, Source, redis};

/// Far above any real file; keeps a wrong path such as a device from filling the memory.
const MAX_SIZE: u64 = 1 << 20;

/// Sections under these names may be empty.
const ENVIRONMENTS: [&str; 4] = ["development", "test", "staging", "production"];

/// Something wrong in a file, before the file's name is known.
pub(super) enum Fault {
    Unknown { line: usize, key: String, hint: Option<&'static str>, known: Vec<&'static str> },
    Invalid { line: usize, key: String, mismatch: Mismatch },
}

impl Fault {
    pub(super) fn unknown(line: usize, within: &str, key: &str, known: &[&'static str]) -> Self {
        let hint = nearest(key, known.iter().copied());
        Self::Unknown { line, key: format!("{within}{key}"), hint, known: known.to_vec() }
    }

    pub(super) fn invalid(line: usize, key: &str, mismatch: Mismatch) -> Self {
        Self::Invalid { line, key: key.to_owned(), mismatch }
    }

    pub(super) fn repeated(line: usize, key: &str, first: usize) -> Self {
        Self::invalid(line, key, Mismatch::new("the key once", format!("it again (first on line {first})")))
    }

    fn in_file(self, path: &Path) -> LoadError {
        match self {
            Self::Unknown { line, key, hint, known } => LoadError::UnknownKey {
                at: Source::File { path: path.to_owned(), line },
                key,
                hint: match hint {
                    Some(hint) => format!("did you mean {hint}?"),
                    None => format!("expected one of {}", known.join(", ")),
                },
            },
            Self::Invalid { line, key, mismatch } => {
                LoadError::invalid(Source::File { path: path.to_owned(), line }, key, mismatch)
            }
        }
    }
}

/// Reads the file; `path` is for messages, `full_path` for the system.
pub(super) fn read(
    path: &Path,
    full_path: &Path,
    environment: &str,
    env: &EnvVars,
) -> Result<Layer, LoadError> {
    let text = read_text(full_path).map_err(|source| LoadError::File { path: path.to_owned(), source })?;
    let template =
        Template::parse(&text).map_err(|source| LoadError::Template { path: path.to_owned(), source })?;
    let document = yaml::parse(template.text()).map_err(|error| LoadError::Syntax {
        path: path.to_owned(),
        line: error.line,
        message: error.message,
    })?;
    let reader = Reader { path, environment, yaml: Resolver { template: &template, env } };
    let mut layer = Layer::new("file");
    for (key, (value, line)) in reader.document(&document)? {
        layer.set(key, value, Source::File { path: path.to_owned(), line });
    }
    Ok(layer)
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_SIZE + 1).read_to_string(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|size| size > MAX_SIZE) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {MAX_SIZE} bytes")));
    }
    Ok(text)
}

type Settings = BTreeMap<Key, (Value, usize)>;

/// A mapping with its keys as text.
type Entries<'r> = Vec<(String, usize, &'r Spanned<Raw>)>;

struct Reader<'a> {
    path: &'a Path,
    environment: &'a str,
    yaml: Resolver<'a>,
}

impl Reader<'_> {
    /// The settings at the top, overlaid by those in the section of the environment.
    fn document(&self, document: &Spanned<Raw>) -> Result<Settings, LoadError> {
        let mut settings = Settings::new();
        let mut section = Settings::new();
        for (name, line, value) in self.entries(document, "the file")? {
            if let Some(key) = Key::named(&name) {
                self.setting(key, line, value, &mut settings)?;
            } else if self.is_section(&name, value) {
                let active = name == self.environment;
                for (key_name, line, value) in self.entries(value, &name)? {
                    let key = Key::named(&key_name)
                        .ok_or_else(|| self.unknown(line, &format!("{name}."), &key_name))?;
                    if active {
                        self.setting(key, line, value, &mut section)?;
                    }
                }
            } else {
                return Err(self.unknown(line, "", &name));
            }
        }
        settings.extend(section);
        Ok(settings)
    }

    /// A map under a name that is no key is a section, unless the name looks like a slip.
    fn is_section(&self, name: &str, value: &Spanned<Raw>) -> bool {
        match value.value {
            Raw::Map(_) => nearest(name, Key::ALL.iter().copied().map(Key::name)).is_none(),
            Raw::Nil => name == self.environment || ENVIRONMENTS.contains(&name),
            _ => false,
        }
    }

    fn entries<'r>(&self, map: &'r Spanned<Raw>, what: &str) -> Result<Entries<'r>, LoadError> {
        let raw = match &map.value {
            Raw::Map(entries) => entries.as_slice(),
            Raw::Nil => &[],
            _ => {
                let found = self.resolve(map)?.describe();
                let mismatch = Mismatch::new("a map of settings", found);
                return Err(Fault::invalid(yaml::line_of(map), what, mismatch).in_file(self.path));
            }
        };
        let mut entries = Entries::new();
        for (key, value) in raw {
            let name = self.yaml.key(key).map_err(|source| self.template_error(source))?;
            let line = yaml::line_of(key);
            if let Some((_, first, _)) = entries.iter().find(|(other, ..)| *other == name) {
                return Err(Fault::repeated(line, &name, *first).in_file(self.path));
            }
            entries.push((name, line, value));
        }
        Ok(entries)
    }

    fn setting(
        &self,
        key: Key,
        line: usize,
        value: &Spanned<Raw>,
        settings: &mut Settings,
    ) -> Result<(), LoadError> {
        if key == Key::Environment {
            let expected =
                "it to be set by -e, APP_ENV, RAILS_ENV or RACK_ENV, as it selects a section of the file";
            let mismatch = Mismatch::new(expected, "it in the file");
            return Err(Fault::invalid(line, key.name(), mismatch).in_file(self.path));
        }
        let mut node = self.resolve(value)?;
        if matches!(node.content, Content::Nil) {
            // An absent value can be placed on the next line.
            node.line = line;
        }
        let found = if key == Key::Redis {
            redis::read(&node).map_err(|fault| fault.in_file(self.path))?
        } else {
            let value = key.rule().read(&node).map_err(|mismatch| {
                let line = if matches!(node.content, Content::Scalar(_)) { node.line } else { line };
                Fault::invalid(line, key.name(), mismatch).in_file(self.path)
            })?;
            vec![(key, value, line)]
        };
        for (key, value, line) in found {
            if let Some((_, first)) = settings.insert(key, (value, line)) {
                return Err(Fault::repeated(line, key.name(), first).in_file(self.path));
            }
        }
        Ok(())
    }

    fn resolve(&self, raw: &Spanned<Raw>) -> Result<super::node::Node, LoadError> {
        self.yaml.node(raw).map_err(|source| self.template_error(source))
    }

    fn unknown(&self, line: usize, within: &str, name: &str) -> LoadError {
        let known: Vec<&str> =
            Key::ALL.iter().copied().filter(|key| *key != Key::Environment).map(Key::name).collect();
        Fault::unknown(line, within, name, &known).in_file(self.path)
    }

    fn template_error(&self, source: super::erb::ErbError) -> LoadError {
        LoadError::Template { path: self.path.to_owned(), source }
    }
}
