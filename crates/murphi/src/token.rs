//! What the lexer makes of the text.

use shoal_syntax::Span;

/// A token: what kind and where. Its text is in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

/// Declares the keywords once: the enum, the spelling and the look-up.
macro_rules! keywords {
    ($($variant:ident $text:literal)*) => {
        /// A word reserved by both CMurphi and Rumur, in any case of letters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Keyword { $(#[doc = concat!("`", $text, "`.")] $variant),* }

        impl Keyword {
            /// All of them, in the order of the alphabet.
            pub const ALL: &'static [Keyword] = &[$(Keyword::$variant),*];

            /// The spelling in small letters.
            pub fn text(self) -> &'static str {
                match self { $(Keyword::$variant => $text),* }
            }

            /// The keyword with this spelling in small letters.
            fn from_lowercase(word: &str) -> Option<Keyword> {
                match word { $($text => Some(Keyword::$variant),)* _ => None }
            }
        }
    };
}

keywords! {
    Alias "alias" Array "array" Assert "assert" Begin "begin" Boolean "boolean" By "by" Case "case" Clear "clear"
    Const "const" Do "do" Else "else" Elsif "elsif" End "end" EndAlias "endalias" EndExists "endexists" EndFor "endfor"
    EndForall "endforall" EndFunction "endfunction" EndIf "endif" EndProcedure "endprocedure" EndRecord "endrecord"
    EndRule "endrule" EndRuleset "endruleset" EndStartState "endstartstate" EndSwitch "endswitch" EndWhile "endwhile"
    Enum "enum" Error "error" Exists "exists" False "false" For "for" Forall "forall" Function "function" If "if"
    Invariant "invariant" IsUndefined "isundefined" Of "of" Procedure "procedure" Put "put" Record "record"
    Return "return" Rule "rule" Ruleset "ruleset" Scalarset "scalarset" StartState "startstate" Switch "switch"
    Then "then" To "to" True "true" Type "type" Undefine "undefine" Var "var" While "while"
}

impl Keyword {
    /// The keyword a word is, whatever the case of its letters.
    pub fn lookup(word: &str) -> Option<Keyword> {
        let mut buffer = [0; 16];
        let small = buffer.get_mut(..word.len())?;
        small.copy_from_slice(word.as_bytes());
        small.make_ascii_lowercase();
        Keyword::from_lowercase(std::str::from_utf8(small).ok()?)
    }

    /// Whether it is `end` or one of its long forms.
    pub fn is_closer(self) -> bool {
        self.text().starts_with("end")
    }
}

/// Words that not both of the two tools reserve (some are Shoal's own). They are keywords only where a keyword makes sense, and never once the
/// model has declared them as names.
pub const SOFT_WORDS: &[&str] = &[
    "always",
    "assume",
    "choose",
    "cover",
    "ctl",
    "endchoose",
    "eventually",
    "externfun",
    "externproc",
    "fairness",
    "ismember",
    "liveness",
    "ltl",
    "multiset",
    "multisetadd",
    "multisetcount",
    "multisetremove",
    "multisetremovepred",
    "next",
    "pctl",
    "real",
    "undefined",
    "union",
];

/// Declares the symbols once: the variant and the spelling.
macro_rules! token_kinds {
    ($($variant:ident $text:literal)*) => {
        /// The kinds of token.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TokenKind {
            /// A name or a soft word.
            Ident,
            /// A decimal or hexadecimal number.
            Int,
            /// A number with a decimal point.
            Real,
            /// A string in straight or curly quotes; the span includes them.
            String,
            /// A reserved word.
            Keyword(Keyword),
            /// The end of the text; always the last token.
            Eof,
            $(#[doc = concat!("`", $text, "`.")] $variant),*
        }

        impl TokenKind {
            /// The spelling of a symbol or keyword, `None` for what varies.
            pub fn text(self) -> Option<&'static str> {
                match self {
                    TokenKind::Keyword(keyword) => Some(keyword.text()),
                    $(TokenKind::$variant => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

token_kinds! {
    LeftParen "(" RightParen ")" LeftBracket "[" RightBracket "]" LeftBrace "{" RightBrace "}"
    Comma "," Semicolon ";" Colon ":" Dot "." DotDot ".." Assign ":=" Arrow "==>" Implies "->" Question "?"
    Bar "|" BarBar "||" Caret "^" Amp "&" AmpAmp "&&" Bang "!" Tilde "~"
    Equal "=" EqualEqual "==" NotEqual "!=" Less "<" LessEqual "<=" Greater ">" GreaterEqual ">="
    ShiftLeft "<<" ShiftRight ">>" Plus "+" Minus "-" Star "*" Slash "/" Percent "%"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_ignore_case_and_length_is_no_trap() {
        assert_eq!(Keyword::lookup("EndStartState"), Some(Keyword::EndStartState));
        assert_eq!(Keyword::lookup("x"), None);
        assert_eq!(Keyword::lookup("a_name_that_is_longer_than_any_keyword"), None);
        assert_eq!(Keyword::lookup("ünïcödé"), None);
        assert!(SOFT_WORDS.iter().all(|word| Keyword::lookup(word).is_none()));
    }
}
