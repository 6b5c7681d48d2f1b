//! The vocabulary of names and texts.

pub(super) const FIRST_NAMES: [&str; 64] = [
    "adam", "aisha", "alex", "amelie", "amir", "ana", "anders", "anya", "arjun", "aylin", "ben", "bianca", "carlos",
    "chen", "chloe", "daniel", "diego", "elena", "elif", "emma", "erik", "fatima", "felix", "finn", "grace", "hana",
    "hugo", "ines", "isaac", "ivan", "jana", "jonas", "julia", "kai", "karin", "kofi", "lea", "liam", "lucia",
    "malik", "maria", "marta", "mateo", "maya", "mei", "mika", "nadia", "nina", "noah", "nora", "olga", "omar",
    "paula", "pedro", "priya", "rosa", "sami", "sara", "sofia", "tariq", "tom", "yuki", "zara", "zoe",
];

pub(super) const PEOPLE: [&str; 32] = [
    "I", "We", "My sister", "My brother", "Our neighbour", "A friend of mine", "The whole team", "My daughter",
    "My son", "The kids", "My grandfather", "Half the street", "The choir", "My flatmate", "An old colleague",
    "The baker", "Our dog", "The cat next door", "My running group", "The new trainee", "My aunt", "Two strangers",
    "The librarian", "Our book club", "The band", "My parents", "A visitor from Porto", "The gardener", "My cousin",
    "Everyone here", "The ferryman", "Our teacher",
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

pub(super) const REMARKS: [&str; 32] = [
    "Lovely!", "So true.", "Where is that?", "Count me in.", "I was there too!", "Made my day.", "Congratulations!",
    "Tell me more.", "No way.", "Best one yet.", "Miss you all.", "Same here.", "What a story!", "Ha, classic.",
    "Beautiful light.", "How long did it take?", "Thank you for sharing.", "I want one as well.",
    "Next time call me!", "Well done, you two.", "That looks delicious.", "Looks familiar...", "You never told me!",
    "Brilliant.", "Oh no!", "Wish I were there.", "Good question.", "I disagree, but nicely put.",
    "See you on Sunday.", "Wonderful news!", "That is my street!", "Now I am curious.",
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
