//! Text that is HTML already.

use std::fmt::{self, Write};

use askama::filters::HtmlSafe;

/// HTML, which templates do not escape again.
///
/// ```
/// use cogworker_web::Markup;
///
/// let mut page = Markup::raw("<b>");
/// page.text("a < b").html("</b>");
/// assert_eq!(page.to_string(), "<b>a &#60; b</b>");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// Text that is HTML already: never anything that came from outside.
    pub fn raw(html: impl Into<String>) -> Self {
        Self(html.into())
    }

    pub(crate) fn of(text: impl fmt::Display) -> Self {
        let mut markup = Self::default();
        markup.text(text);
        markup
    }

    /// Appends text, which is escaped.
    pub fn text(&mut self, text: impl fmt::Display) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(Escaped(&mut self.0), "{text}");
        self
    }

    /// Appends HTML, as it is: never anything that came from outside.
    pub fn html(&mut self, html: &str) -> &mut Self {
        self.0.push_str(html);
        self
    }

    pub(crate) fn ending(mut self, html: &str) -> Self {
        self.html(html);
        self
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

/// Escapes as the templates do.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&#38;"),
                '<' => self.0.push_str("&#60;"),
                '>' => self.0.push_str("&#62;"),
                '"' => self.0.push_str("&#34;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        Ok(())
    }
}
