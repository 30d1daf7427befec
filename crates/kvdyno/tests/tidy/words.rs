//! Words: names that were retired from the code, and how long the sentences of docs are.

use super::{Source, assert_none, files, repository, rust};
use std::fs;

/// Names that say how something came about and not what it is. No function has one of them.
const RETIRED_FUNCTIONS: [&str; 12] = [
    "of", "told", "found", "given", "taken", "said", "hear", "heard", "tell", "say", "bury",
    "given_or",
];

/// Participles that may be a function's whole name: they are clear at the call.
const PARTICIPLES: [&str; 12] = [
    "embedded",
    "enabled",
    "loaded",
    "malformed",
    "ordered",
    "required",
    "sorted",
    "tuned",
    "uncompared",
    "unpacked",
    "unsupported",
    "verified",
];

/// Types that hid one of many meanings, or a word of the standard prelude.
const RETIRED_TYPES: [&str; 14] = [
    "Apart",
    "Beside",
    "Captain",
    "Found",
    "From",
    "Given",
    "Heard",
    "Kept",
    "Place",
    "Seat",
    "Sized",
    "Sought",
    "Told",
    "Undertaker",
];

/// Fields of public types, and so of JSON, that needed their comment to be understood.
const RETIRED_FIELDS: [&str; 16] = [
    "apart", "at", "behind", "beside", "by", "found", "here", "lies_on", "made_by", "of", "place",
    "said", "there", "told", "what", "why",
];

/// Words that had a second word beside them for the same thing, each with the one that stays.
const RETIRED_WORDS: [(&str, &str); 3] =
    [("folder", "directory; `dir` in code"), ("baseline", "ceiling"), ("client group", "role")];

const WORDS_PER_SENTENCE_MAX: usize = 30;
const WORDS_PER_SENTENCE_MEAN_MAX: f64 = 20.0;

#[test]
fn retired_names_stay_retired() {
    let mut back = Vec::new();
    for Source { path, text } in rust() {
        for (number, line) in text.lines().enumerate() {
            let code = line.trim_start();
            let field = code.strip_prefix("pub ").and_then(|rest| rest.split_once(": "));
            if field.is_some_and(|(name, _)| RETIRED_FIELDS.contains(&name))
                || declared_name(code, "fn").is_some_and(|name| RETIRED_FUNCTIONS.contains(&name))
                || ["struct", "enum", "trait", "type"].iter().any(|keyword| {
                    declared_name(code, keyword).is_some_and(|name| RETIRED_TYPES.contains(&name))
                })
            {
                back.push(format!("{path}:{}: {code}", number + 1));
            }
        }
    }
    assert_none("names that docs/architecture.md has a better word for", &back);
}

#[test]
fn functions_are_verbs_and_nouns() {
    let mut riddles = Vec::new();
    for Source { path, text } in rust() {
        if path.contains("/tests/") || path.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let name = declared_name(line.trim_start(), "fn");
            riddles.extend(
                name.filter(|name| lacks_verb_and_noun(name))
                    .map(|name| format!("{path}:{}: {name}", number + 1)),
            );
        }
    }
    assert_none("functions without a verb and its object, or the noun that they return", &riddles);
}

#[test]
fn one_thing_has_one_word() {
    let mut back = Vec::new();
    for Source { path, text } in files(&[".rs", ".md", ".ts", ".sh", ".toml", ".txt", ".snap"]) {
        if path.ends_with("tidy/words.rs") {
            continue;
        }
        for (number, line) in text.to_lowercase().lines().enumerate() {
            let retired = RETIRED_WORDS.iter().find(|(word, _)| line.contains(word));
            back.extend(
                retired.map(|(word, stays)| format!("{path}:{}: `{word}` is {stays}", number + 1)),
            );
        }
    }
    assert_none("a second word for one thing", &back);
}

/// The name that a line of code declares with `keyword`.
fn declared_name<'c>(code: &'c str, keyword: &str) -> Option<&'c str> {
    if code.starts_with("//") {
        return None;
    }
    let name = code.split(' ').skip_while(|word| *word != keyword).nth(1)?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end])
}

/// Whether a function's name is a bare participle, or has `of` without what it is of.
fn lacks_verb_and_noun(name: &str) -> bool {
    let is_participle = name.ends_with("ed") && !name.contains('_');
    (is_participle && !PARTICIPLES.contains(&name))
        || name.starts_with("of_")
        || name.ends_with("_of")
}

#[test]
fn sentences_of_docs_are_short() {
    let mut long = Vec::new();
    for Source { path, text } in files(&[".md"]) {
        let mut lengths = Vec::new();
        for sentence in sentences(&text) {
            let count = word_count(&sentence);
            if count > WORDS_PER_SENTENCE_MAX {
                long.push(format!("{path}: {count} words: {sentence}"));
            }
            // A shorter one is a label: `Or:`.
            lengths.extend((count > 2).then_some(count));
        }
        let mean = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
        if mean > WORDS_PER_SENTENCE_MEAN_MAX {
            long.push(format!("{path}: {mean:.1} words per sentence on average"));
        }
    }
    assert_none("sentences of more than 30 words, or of more than 20 on average", &long);
}

/// The sentences of a page's prose: without code, tables, headings and quotations of HTML.
fn sentences(page: &str) -> impl Iterator<Item = String> {
    let mut paragraphs = vec![String::new()];
    let mut fenced = false;
    for line in page.lines() {
        let text = line.trim_start();
        let is_fence = text.starts_with("```");
        fenced ^= is_fence;
        let is_code = line.starts_with("    ") && paragraphs.last().is_some_and(String::is_empty);
        if fenced || is_fence || is_code || text.is_empty() || text.starts_with(['#', '|', '<']) {
            paragraphs.push(String::new());
            continue;
        }
        let item = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).or_else(|| {
            let (number, rest) = text.split_once(". ")?;
            number.parse::<u32>().is_ok().then_some(rest)
        });
        if item.is_some() {
            paragraphs.push(String::new());
        }
        if let Some(paragraph) = paragraphs.last_mut() {
            paragraph.push_str(item.unwrap_or(text));
            paragraph.push(' ');
        }
    }
    paragraphs.into_iter().flat_map(|paragraph| split_sentences(&paragraph))
}

fn split_sentences(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut in_code = false;
    for word in paragraph.split_whitespace() {
        if let Some(sentence) = sentences.last_mut() {
            sentence.push_str(word);
            sentence.push(' ');
        }
        in_code ^= word.matches('`').count() % 2 == 1;
        let end = word.trim_end_matches(['"', '\'', ')', '*', '`', '_']);
        if !in_code && end.ends_with(['.', '!', '?', ':']) {
            sentences.push(String::new());
        }
    }
    sentences
}

/// A piece of code and the target of a link are one word, whatever they contain.
fn word_count(sentence: &str) -> usize {
    let mut count = 0;
    let mut in_code = false;
    for word in sentence.split_whitespace() {
        let is_word = word.chars().any(char::is_alphanumeric);
        count += usize::from(is_word && !in_code);
        in_code ^= word.matches('`').count() % 2 == 1;
    }
    count
}

#[test]
fn sentences_are_found_in_prose_alone() {
    let page = "# A heading\n\nOne two three. Four `code with. dots` five\nsix seven:\n\n\
                \x20   code\n\n- an item here\n- another one\n\n| a | table |\n";
    let counts: Vec<usize> = sentences(page).map(|s| word_count(&s)).filter(|n| *n > 0).collect();
    assert_eq!(counts, [3, 5, 3, 2]);
}

/// A glossary that is long is not read.
#[test]
fn the_glossary_is_short() {
    let text = fs::read_to_string(repository().join("docs/architecture.md")).unwrap();
    let glossary = text.split("## Glossary\n").nth(1).expect("docs/architecture.md has a glossary");
    let lines = glossary.split("\n## ").next().unwrap_or_default().lines().count();
    assert!(lines <= 40, "the glossary has {lines} lines");
}
