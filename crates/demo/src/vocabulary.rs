//! The vocabulary of names and texts.

pub(super) const FIRST_NAMES: [&str; 64] = [
    "adam", "aisha", "alex", "amelie", "amir", "ana", "anders", "anya", "arjun", "aylin", "ben", "bianca", "carlos",
    "chen", "chloe", "daniel", "diego", "elena", "elif", "emma", "erik", "fatima", "felix", "finn", "grace", "hana",
    "hugo", "ines", "isaac", "ivan", "jana", "jonas", "julia", "kai", "karin", "kofi", "lea", "liam", "lucia",
    "malik", "maria", "marta", "mateo", "maya", "mei", "mika", "nadia", "nina", "noah", "nora", "olga", "omar",
    "paula", "pedro", "priya", "rosa", "sami", "sara", "sofia", "tariq", "tom", "yuki", "zara", "zoe",
];

pub(super) const OPENERS: [&str; 24] = [
    "Finally", "This morning", "Just now", "Last weekend", "On the way home", "After the rain", "Before breakfast",
    "Somehow", "Once again", "Yesterday", "For the first time", "By pure luck", "Against all odds", "As promised",
    "Late last night", "Over lunch", "In the end", "Without a plan", "Between two meetings", "At long last", "Today",
    "Right on time", "As every summer", "To my surprise",
];

pub(super) const PEOPLE: [&str; 32] = [
    "I", "we", "my sister", "my brother", "our neighbour", "a friend of mine", "the whole team", "my daughter",
    "my son", "the kids", "my grandfather", "half the street", "the choir", "my flatmate", "an old colleague",
    "the baker", "our dog", "the cat next door", "my running group", "the new trainee", "my aunt", "two strangers",
    "the librarian", "our book club", "the band", "my parents", "a visitor from Porto", "the gardener", "my cousin",
    "everyone here", "the ferryman", "our teacher",
];

pub(super) const DEEDS: [&str; 32] = [
    "found", "repaired", "photographed", "painted", "carried home", "talked about", "discovered", "built", "borrowed",
    "tried out", "learned to love", "forgot about", "planted", "cooked", "recorded", "gave away", "finished", "lost",
    "rescued", "restored", "sketched", "invented", "tasted", "took apart", "read all about", "dreamed of",
    "looked for", "waited for", "celebrated", "wrote about", "laughed about", "put together",
];

pub(super) const THINGS: [&str; 48] = [
    "an old bicycle", "the best soup in town", "a wooden boat", "a box of letters", "the first tomatoes",
    "a tiny bookshop", "a garden full of bees", "the missing chess piece", "a radio from 1962",
    "three loaves of bread", "a map of the coast", "a recipe for plum cake", "the view from the roof",
    "a very small orchestra", "the long way round", "a pair of boots", "a lamp made of driftwood", "the last train",
    "a choir rehearsal", "a film nobody knows", "a bench in the sun", "the new swimming pool", "a stack of records",
    "a kite", "a jar of honey", "the local museum", "a stray kitten", "a quilt in forty colours",
    "the answer to everything", "a path through the woods", "a pot of coffee", "the neighbours' fence", "an umbrella",
    "a poem about fog", "a telescope", "the harvest", "a marathon", "a ukulele", "the broken dishwasher",
    "a sourdough starter", "a card game", "a tent", "a violin", "the spare key", "a sunflower",
    "a letter from abroad", "the village fair", "a sketchbook",
];

pub(super) const PLACES: [&str; 32] = [
    "near the harbour", "behind the station", "in the old town", "by the river", "at the market",
    "up in the mountains", "on the balcony", "at the end of our street", "in the library", "under the bridge",
    "at my grandmother's", "by the sea", "in the attic", "on the night bus", "in a café", "at the allotment",
    "in the park", "on the island", "at work", "in the kitchen", "at the theatre", "beside the lighthouse",
    "in the basement", "at the lake", "on the terrace", "in a forest clearing", "at school", "on platform nine",
    "in the greenhouse", "by the fire", "in the workshop", "at the flea market",
];

pub(super) const ENDINGS: [&str; 24] = [
    "and it was worth it", "which says it all", "as if nothing had happened", "and nobody noticed", "for once",
    "with a little help", "just before closing time", "and then it snowed", "more than once", "in the rain",
    "with both hands full", "and could not stop smiling", "while the kettle was on", "and everybody joined in",
    "without a word", "like in the old days", "and I have proof", "until the lights went out", "with great patience",
    "to loud applause", "and would do it again", "despite the wind", "before anyone else", "at half past six",
];

pub(super) const QUESTIONS: [&str; 16] = [
    "Who is coming along?", "Any ideas?", "Does anybody know more?", "What would you have done?",
    "Who remembers this?", "Is it just me?", "Where do you go for that?", "How was your day?", "Same time next week?",
    "Should I be worried?", "Who wants the recipe?", "Can you guess where?", "Worth it?", "What are you reading?",
    "Anyone up for a walk?", "Did you see it too?",
];

pub(super) const REMARKS: [&str; 32] = [
    "Lovely!", "So true.", "Where is that?", "Count me in.", "I was there too!", "Made my day.", "Congratulations!",
    "Tell me more.", "No way.", "Best one yet.", "Miss you all.", "Same here.", "What a story!", "Ha, classic.",
    "Beautiful light.", "How long did it take?", "Thank you for sharing.", "I want one as well.",
    "Next time call me!", "Well done, you two.", "That looks delicious.", "Looks familiar...", "You never told me!",
    "Brilliant.", "Oh no!", "Wish I were there.", "Good question.", "I disagree, but nicely put.",
    "See you on Sunday.", "Wonderful news!", "That is my street!", "Now I am curious.",
];

pub(super) const TAGS: [&str; 16] = [
    "#morning", "#slowlife", "#neighbourhood", "#garden", "#onthisday", "#cooking", "#weekend", "#music", "#reading",
    "#hiking", "#craft", "#citylife", "#sea", "#coffee", "#cats", "#photo",
];

pub(super) const EMOJI: [&str; 16] = [
    "🙂", "😂", "🎉", "🌻", "🚲", "☕", "🌧", "🐈", "🍅", "📚", "🎻", "⛵", "🏔", "🍞", "✨", "❤",
];

pub(super) const PROFESSIONS: [&str; 24] = [
    "Nurse", "Carpenter", "Teacher", "Software developer", "Gardener", "Student of geology", "Bus driver",
    "Translator", "Retired engineer", "Cook", "Photographer", "Midwife", "Violin maker", "Librarian", "Architect",
    "Beekeeper", "Physiotherapist", "Journalist", "Electrician", "Marine biologist", "Bookseller",
    "Cyclist first, accountant second", "Illustrator", "Farmer",
];

pub(super) const TOWNS: [&str; 24] = [
    "Porto", "Lyon", "Gdansk", "Bologna", "Leipzig", "Ghent", "Malmö", "Graz", "Bilbao", "Cork", "Tartu",
    "Thessaloniki", "Bergen", "Brno", "Utrecht", "Valparaíso", "Mombasa", "Kyoto", "Pune", "Halifax", "Izmir",
    "Dakar", "Hobart", "Oaxaca",
];
