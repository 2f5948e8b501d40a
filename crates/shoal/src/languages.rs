//! What is known of the texts of each language, without reading a model from them: for editors.

use std::path::Path;

use shoal_syntax::Vocabulary;

static VOCABULARIES: [Vocabulary; 6] = [
    shoal_murphi::vocabulary::VOCABULARY,
    shoal_promela::vocabulary::VOCABULARY,
    shoal_vpl::vocabulary::VOCABULARY,
    shoal_red::vocabulary::VOCABULARY,
    shoal_uppaal::vocabulary::VOCABULARY,
    shoal_threads::VOCABULARY,
];

/// What the texts of the languages that people write by hand are made of.
pub fn vocabularies() -> &'static [Vocabulary] {
    &VOCABULARIES
}

/// What a text is made of, by the ending of its name or of the language that is given; nothing for languages that only programs write.
pub fn vocabulary_of(name: &str, language: Option<&str>) -> Option<&'static Vocabulary> {
    let own = Path::new(name).extension().and_then(|ending| ending.to_str());
    let ending = language.or(own)?;
    VOCABULARIES.iter().find(|it| it.endings.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

/// The languages whose texts are laid out.
const LAID_OUT: [&str; 2] = ["murphi", "vpl"];

/// A text, laid out: lines stand as far to the right as the blocks say that they are in, and blanks between words are
/// even. It means what it meant. Nothing for a language of which the layout is not known.
pub fn formatted(name: &str, text: &str, language: Option<&str>) -> Option<String> {
    let vocabulary = vocabulary_of(name, language).filter(|it| LAID_OUT.contains(&it.id))?;
    vocabulary.laid_out(text)
}
