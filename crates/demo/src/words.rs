//! What people are called, and what they write.

use super::random::Random;
use super::vocabulary::{
    DEEDS, EMOJI, ENDINGS, FIRST_NAMES, OPENERS, PEOPLE, PLACES, PROFESSIONS, QUESTIONS, REMARKS, TAGS, THINGS, TOWNS,
};

/// Returns a username for the account of a number, which no other has.
pub(super) fn username(random: &mut Random, number: usize) -> String {
    format!("{}{number}", random.pick(&FIRST_NAMES))
}

/// Returns what somebody says of themselves.
pub(super) fn biography(random: &mut Random) -> String {
    let mut text = format!("{} from {}.", random.pick(&PROFESSIONS), random.pick(&TOWNS));
    if random.percent(50) {
        text.push(' ');
        sentence(random, &mut text);
    }
    if random.percent(30) {
        text += &format!(" {}", random.pick(&EMOJI));
    }
    text
}

/// Returns the text of a post: 20 to 500 characters, mostly short.
pub(super) fn post(random: &mut Random) -> String {
    let part = random.unit();
    // The longest sentence and what may follow it still go into 500.
    let enough = 20 + (280.0 * part * part) as usize;
    let mut text = String::new();
    while text.chars().count() < enough {
        if !text.is_empty() {
            text.push(' ');
        }
        sentence(random, &mut text);
    }
    if random.percent(15) {
        text += &format!(" {}", random.pick(&QUESTIONS));
    }
    for (chance, some) in [(20, &TAGS), (12, &EMOJI)] {
        if random.percent(chance) {
            text += &format!(" {}", random.pick(some));
        }
    }
    text
}

/// Returns the text of a comment.
pub(super) fn comment(random: &mut Random) -> String {
    let mut text = String::new();
    if random.percent(65) {
        text += random.pick(&REMARKS);
    }
    if text.is_empty() || random.percent(15) {
        text.push_str(if text.is_empty() { "" } else { " " });
        sentence(random, &mut text);
    }
    text
}

/// Adds a sentence.
fn sentence(random: &mut Random, text: &mut String) {
    let begin = text.len();
    if random.percent(40) {
        *text += random.pick(&OPENERS);
        text.push(' ');
    }
    *text += random.pick(&PEOPLE);
    for words in [random.pick(&DEEDS), random.pick(&THINGS)] {
        *text += &format!(" {words}");
    }
    if random.percent(60) {
        *text += &format!(" {}", random.pick(&PLACES));
    }
    if random.percent(30) {
        *text += &format!(" {}", random.pick(&ENDINGS));
    }
    text.push(if random.percent(12) { '!' } else { '.' });
    if let Some(first) = text.get_mut(begin..=begin) {
        first.make_ascii_uppercase();
    }
}
