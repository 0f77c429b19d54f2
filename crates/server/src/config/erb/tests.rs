use super::*;
use proptest::prelude::*;

fn env() -> EnvVars {
    [("SIZE", "7"), ("EMPTY", ""), ("ODD", "a: \"b\"\n- c # d")].into_iter().collect()
}

/// The text with each expression replaced by its value, as ERB would render it.
fn render(template: &Template) -> Result<String, ErbError> {
    template.value(&template.text, &env()).map(|value| value.into_text().unwrap_or_default())
}

fn rendered(source: &str) -> String {
    Template::parse(source).and_then(|template| render(&template)).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(source: &str) -> String {
    Template::parse(source).and_then(|template| render(&template)).expect_err(source).to_string()
}

#[test]
fn an_expression_is_replaced_by_its_value() {
    for (source, expected) in [
        ("no tags", "no tags"),
        ("a<%= 1 %>b<%= 2 %>c", "a1b2c"),
        ("<%= 1 + 2 %>", "3"),
        ("<%= 2 + 3 * 4 - 10 / 2 %>", "9"),
        ("<%= (2 + 3) * -4 %>", "-20"),
        ("<%= -7 / 2 %> <%= 7 / -2 %> <%= -8 / 2 %>", "-4 -4 -4"),
        ("<%= 10 - 2 - 3 %>", "5"),
        ("<%= 1_000 %>", "1000"),
        ("<%= 1.5 %> <%= -0.5 %>", "1.5 -0.5"),
        ("<%= \"a\\\"b\\n\" %>", "a\"b\n"),
        ("<%= 'a\\'b\\n' %>", "a'b\\n"),
        ("<%= :basic %>", "basic"),
        ("<%= ENV[\"SIZE\"] %>", "7"),
        ("<%= ENV['NONE'] %>", ""),
        ("<%= ENV['NONE'] || ENV['SIZE'] || 5 %>", "7"),
        ("<%= ENV['NONE'] || false || nil || 5 %>", "5"),
        ("<%= ENV['EMPTY'] || 5 %>", ""),
        ("<%= ENV.fetch('SIZE') %>", "7"),
        ("<%= ENV.fetch('NONE', 1 + 1) %>", "2"),
        ("<%= ENV.fetch('NONE', ENV.fetch('SIZE')) %>", "7"),
        ("<%= true %>", "true"),
        ("a<%# any thing %>b", "ab"),
        ("<%# two\nlines %>b", "\nb"),
        ("# <% if x %>\nb", "# \nb"),
        ("# <% if\nx %>\nb", "# \n#\nb"),
    ] {
        assert_eq!(rendered(source), expected, "{source}");
    }
}

#[test]
fn anything_else_is_an_error_that_names_line_and_expression() {
    let subset = "only literals, ENV[\"X\"], ENV.fetch(\"X\"), ENV.fetch(\"X\", default), ||, + - * / and \
                  parentheses are understood";
    for (source, expected) in [
        ("a\n<%= `ls` %>", "line 2: <%= `ls` %>: unexpected '`'".to_owned()),
        ("<%= foo %>", format!("line 1: <%= foo %>: unknown name foo; {subset}")),
        ("<%= 5.to_s %>", format!("line 1: <%= 5.to_s %>: unexpected .; {subset}")),
        ("<%= ENV.delete('X') %>", format!("line 1: <%= ENV.delete('X') %>: {subset}")),
        ("<%= ENV[X] %>", "line 1: <%= ENV[X] %>: the name of a variable must be a string".into()),
        ("<%= ENV.fetch('NONE') %>", "line 1: <%= ENV.fetch('NONE') %>: the variable NONE is not set".into()),
        (
            "<%= ENV['SIZE'] + 1 %>",
            "line 1: <%= ENV['SIZE'] + 1 %>: arithmetic needs whole numbers, found text".into(),
        ),
        ("<%= 1 / 0 %>", "line 1: <%= 1 / 0 %>: division by zero".into()),
        (
            "<%= 9223372036854775807 + 1 %>",
            "line 1: <%= 9223372036854775807 + 1 %>: the result is too large".into(),
        ),
        (
            "<%= 99999999999999999999 %>",
            "line 1: <%= 99999999999999999999 %>: 99999999999999999999 is too large".into(),
        ),
        ("<%= 010 %>", "line 1: <%= 010 %>: \"010\" is octal in Ruby, write it without leading zeros".into()),
        ("<%= \"#{x}\" %>", "line 1: <%= \"#{x}\" %>: #{…} inside a string is not understood".into()),
        ("<%= 'a %>", "line 1: <%= 'a %>: a string is not closed".into()),
        ("<%= (1 %>", "line 1: <%= (1 %>: expected ) before the end".into()),
        ("<%= 1 2 %>", format!("line 1: <%= 1 2 %>: unexpected 2; {subset}")),
        ("<%= %>", "line 1: <%= %>: the expression ends too early".into()),
        ("<% if x %>", "line 1: <% if x %>: only <%= expression %> and <%# comment %> are understood".into()),
        ("<%% x %>", "line 1: <%% x %>: only <%= expression %> and <%# comment %> are understood".into()),
        ("<%= 1 +\n1 %>", "line 1: <%= 1 + 1 %>: an expression must stand on one line".into()),
        ("a\nb <%= 1", "line 2: <%= 1: the closing %> is missing".into()),
        ("a\n\u{E000}", "line 2: U+E000: this character is reserved".into()),
    ] {
        assert_eq!(refused(source), expected);
    }
}

#[test]
fn depth_and_length_of_an_expression_are_bounded() {
    assert!(
        refused(&format!("<%= {}1{} %>", "(".repeat(40), ")".repeat(40)))
            .ends_with("nested more than 32 deep")
    );
    assert!(refused(&format!("<%= {}1 %>", "-".repeat(40))).ends_with("nested more than 32 deep"));
    assert!(refused(&format!("<%= {}1 %>", "1+".repeat(600))).ends_with("at most 1000 bytes"));
    assert_eq!(rendered(&format!("<%= {}1 %>", "1+".repeat(490))), "491");
}

#[test]
fn a_value_alone_keeps_its_kind() {
    let template = Template::parse("<%= nil %>,<%= 5 %>,<%= ENV['SIZE'] %>").unwrap();
    let kinds: Vec<Value> =
        template.text().split(',').map(|piece| template.value(piece, &env()).unwrap()).collect();
    assert_eq!(kinds, [Value::Nil, Value::Int(5), Value::Text("7".into())]);
}

proptest! {
    #[test]
    fn any_text_is_rendered_or_refused_without_a_panic(text in any::<String>(), code in "[ENVfetch0-9()\\[\\].,|+*/\"' :#{}\\\\-]{0,60}") {
        let _ = Template::parse(&text).and_then(|template| render(&template));
        let _ = Template::parse(&format!("<%={text}%>")).and_then(|template| render(&template));
        let _ = Template::parse(&format!("<%={code}%>")).and_then(|template| render(&template));
    }

    #[test]
    fn sums_are_those_of_the_machine(left in -1000i64..1000, right in 1i64..1000) {
        let source = format!("<%= {left} + {right} %> <%= {left} * {right} %> <%= {left} / {right} %>");
        let expected = format!("{} {} {}", left + right, left * right, left.div_euclid(right));
        prop_assert_eq!(rendered(&source), expected);
    }

    #[test]
    fn text_without_tags_stays_as_it_is(text in "[^<\u{E000}]*") {
        prop_assert_eq!(rendered(&text), text);
    }
}
