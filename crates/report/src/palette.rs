//! What a terminal can show: colours, and how wide it is.

use std::fmt::{self, Display};

use anstyle::{AnsiColor, Style};

/// The few styles of the output. [`Palette::plain`] has none of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Palette {
    /// Whether there is any style at all.
    pub coloured: bool,
    /// How wide lines may be, where somebody knows.
    pub width: Option<usize>,
    good: Style,
    bad: Style,
    doubt: Style,
    strong: Style,
    faint: Style,
}

impl Palette {
    /// Text as it is.
    pub fn plain() -> Self {
        Palette::default()
    }

    /// Text with colours of a terminal.
    pub fn coloured() -> Self {
        Palette {
            coloured: true,
            width: None,
            good: AnsiColor::Green.on_default().bold(),
            bad: AnsiColor::Red.on_default().bold(),
            doubt: AnsiColor::Yellow.on_default().bold(),
            strong: Style::new().bold(),
            faint: Style::new().dimmed(),
        }
    }

    /// The same in lines of a width.
    #[must_use]
    pub fn within(self, width: Option<usize>) -> Self {
        Palette { width, ..self }
    }

    /// Something that is as it should be.
    pub fn good<T: Display>(&self, text: T) -> impl Display + use<T> {
        Styled(self.good, text)
    }

    /// Something wrong.
    pub fn bad<T: Display>(&self, text: T) -> impl Display + use<T> {
        Styled(self.bad, text)
    }

    /// Something to look at.
    pub fn doubt<T: Display>(&self, text: T) -> impl Display + use<T> {
        Styled(self.doubt, text)
    }

    /// A heading.
    pub fn strong<T: Display>(&self, text: T) -> impl Display + use<T> {
        Styled(self.strong, text)
    }

    /// Something of less weight.
    pub fn faint<T: Display>(&self, text: T) -> impl Display + use<T> {
        Styled(self.faint, text)
    }
}

struct Styled<T>(Style, T);

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.0.render(), self.1, self.0.render_reset())
    }
}
