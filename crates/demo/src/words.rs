//! Generates names and texts.

use rand::RngExt;
use rand::rngs::StdRng;

use super::vocabulary::{DEEDS, EMOJI, FIRST_NAMES, PEOPLE, PLACES, PROFESSIONS, REMARKS, THINGS, TOWNS};

fn pick(from: &[&'static str], random: &mut StdRng) -> &'static str {
    from[random.random_range(0..from.len())]
}

/// Returns the username of an ordinary account, which is unique.
pub(super) fn username(account: usize) -> String {
    format!("{}{account}", FIRST_NAMES[account % FIRST_NAMES.len()])
}

/// Generates a biography.
pub(super) fn biography(random: &mut StdRng) -> String {
    format!("{} from {}. {}", pick(&PROFESSIONS, random), pick(&TOWNS, random), pick(&EMOJI, random))
}

/// Generates the text of a post: 20 to 500 characters, mostly short.
pub(super) fn post(random: &mut StdRng) -> String {
    let sentences = 1 + (5.0 * random.random::<f64>().powi(2)) as usize;
    let mut text = (0..sentences).map(|_| sentence(random)).collect::<Vec<_>>().join(" ");
    if random.random_bool(0.2) {
        text += &format!(" {}", pick(&EMOJI, random));
    }
    text
}

/// Generates the text of a comment.
pub(super) fn comment(random: &mut StdRng) -> String {
    if random.random_bool(0.6) { pick(&REMARKS, random).to_owned() } else { sentence(random) }
}

fn sentence(random: &mut StdRng) -> String {
    let [who, does, what, place] = [&PEOPLE[..], &DEEDS, &THINGS, &PLACES].map(|words| pick(words, random));
    format!("{who} {does} {what} {place}.")
}
