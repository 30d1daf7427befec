//! How a table gets into a terminal's columns: words break into lines, and figures that there is no
//! room for stand below, again behind the names of their rows.

use super::table::Side;

/// Between two columns.
const GAP: usize = 2;
/// The least width of words that are broken for all figures to stand side by side.
const WORDS_LEAST: usize = 16;
/// The least width that is left to figures where they stand below each other.
const FIGURES_LEAST: usize = 34;
/// Where words that do not break leave figures less than this, the table stays as it is.
const FIGURES_TOO_LITTLE: usize = 30;
/// Behind these a word may break.
const MARKS: [char; 8] = ['.', ':', '/', '@', '#', '%', '-', ','];

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) side: Side,
    /// Its longest line.
    pub(super) width: usize,
    /// Its longest piece that does not break.
    pub(super) least: usize,
}

/// Columns that stand side by side: the number of each, and how wide it is.
pub(super) type Block = Vec<(usize, usize)>;

/// Divides columns into blocks that fit into a width. The first `lead` columns name a row, and are
/// in each block.
pub(super) fn blocks(columns: &[Column], lead: usize, width: usize) -> Vec<Block> {
    let all: Vec<usize> = (0..columns.len()).collect();
    let whole = narrow_columns(columns, &all, width, WORDS_LEAST);
    if total(&whole) <= width || lead >= columns.len() {
        return vec![whole];
    }
    let (lead, rest) = all.split_at(lead);
    let lead = narrow_columns(columns, lead, width - FIGURES_LEAST, 0);
    if total(&lead) > width - FIGURES_TOO_LITTLE {
        return vec![narrow_columns(columns, &all, usize::MAX, 0)];
    }
    let room = width.saturating_sub(total(&lead) + GAP);
    let mut blocks = vec![lead.clone()];
    for column in rest {
        let added = narrow_columns(columns, &[*column], room, 0);
        let fits =
            |block: &Block| block.len() == lead.len() || total(block) + 1 + total(&added) <= width;
        if !blocks.last().is_some_and(fits) {
            blocks.push(lead.clone());
        }
        blocks.iter_mut().last().into_iter().for_each(|block| block.extend(&added));
    }
    blocks
}

/// Narrows columns to `room`: the widest words first, none below `least`; numbers stay as they are.
fn narrow_columns(columns: &[Column], which: &[usize], room: usize, least: usize) -> Block {
    let mut block: Block = which.iter().map(|at| (*at, columns[*at].width)).collect();
    while total(&block) > room {
        let breaks = |at: &usize, width: &usize| {
            columns[*at].side == Side::Left && *width > columns[*at].least.max(least)
        };
        let words = block.iter_mut().filter(|(at, width)| breaks(at, width));
        let Some((_, widest)) = words.max_by_key(|(_, width)| *width) else { break };
        *widest -= 1;
    }
    block
}

/// As wide as the rule below the titles, which goes a little further.
fn total(block: &Block) -> usize {
    let widths = block.iter().map(|(_, width)| width + GAP);
    widths.sum::<usize>().saturating_sub(1)
}

/// Returns the length of the longest piece that stays together.
pub(super) fn longest_piece(text: &str) -> usize {
    let words = text.split(' ').flat_map(|word| word.split_inclusive(MARKS));
    words.map(|piece| piece.chars().count()).max().unwrap_or(0)
}

/// Breaks `text` into lines of at most `width`, between words; a text in backticks is one word. A
/// longer word, such as a claim's cell, breaks behind a mark.
pub(super) fn break_lines(text: &str, width: usize) -> String {
    let length = |text: &str| text.chars().count();
    if length(text) <= width {
        return text.to_owned();
    }
    let mut quoted = false;
    let is_break = |letter: char| {
        quoted ^= letter == '`';
        letter == ' ' && !quoted
    };
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(is_break).filter(|word| !word.is_empty()) {
        let mut word = word;
        while !word.is_empty() {
            let Some(line) = lines.last_mut() else { break };
            let gap = usize::from(!line.is_empty());
            if length(line) + gap + length(word) <= width {
                line.push_str(&" ".repeat(gap));
                line.push_str(word);
                break;
            }
            if gap == 0 {
                let (piece, rest) = word.split_at(piece(word, width));
                line.push_str(piece);
                word = rest;
            }
            lines.push(String::new());
        }
    }
    lines.join("\n")
}

/// How many bytes of a word stand on a line: up to the last mark that is there.
fn piece(word: &str, width: usize) -> usize {
    let end = word.char_indices().nth(width).map_or(word.len(), |(at, _)| at);
    word[..end].rfind(MARKS).map_or(end, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::wrap::WIDTH;
    use super::*;

    fn columns(words: usize, least: usize, figures: &[usize]) -> Vec<Column> {
        let figures = figures.iter().map(|width| (Side::Right, *width, *width));
        let all = std::iter::once((Side::Left, words, least)).chain(figures);
        all.map(|(side, width, least)| Column { side, width, least }).collect()
    }

    #[test]
    fn figures_without_room_stand_below_behind_the_same_words() {
        let fit =
            |words, least, figures: &[usize]| blocks(&columns(words, least, figures), 1, WIDTH);
        assert_eq!(fit(30, 9, &[40]), [vec![(0, 30), (1, 40)]]);
        assert_eq!(fit(30, 9, &[40, 30]), [vec![(0, 25), (1, 40), (2, 30)]]);
        assert_eq!(
            fit(30, 9, &[40, 30, 20]),
            [vec![(0, 30), (1, 40)], vec![(0, 30), (2, 30), (3, 20)]]
        );
        assert_eq!(fit(90, 90, &[40, 30]), [vec![(0, 90), (1, 40), (2, 30)]], "as it is");
    }

    #[test]
    fn long_words_break_behind_marks() {
        let claim = "reads (engines:mix-50.clients.rocksdb@flash#max.ops_per_s > 0.5)";
        let lines = break_lines(claim, 24);
        assert_eq!(lines, "reads\n(engines:mix-50.clients.\nrocksdb@flash#max.\nops_per_s > 0.5)");
        assert_eq!(longest_piece(claim), "(engines:".len());
        assert_eq!(
            break_lines(&"x".repeat(30), 24),
            format!("{}\n{}", "x".repeat(24), "x".repeat(6))
        );
        assert_eq!(break_lines("  as it is", 24), "  as it is");
        assert_eq!(break_lines("not given (`--medium a=b`)", 20), "not given\n(`--medium a=b`)");
    }
}
