//! How a photo looks: what the hand, the light, the paper and the phone did to it.

/// What a photo is taken with and under. Lengths are in pixels of the photo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The side of one module of the QR code.
    pub module: f32,
    /// How far the receipt is turned, in degrees.
    pub turned: f32,
    /// How far the phone leans away from the paper, in degrees.
    pub leaning: f32,
    /// How high the waves of the paper are.
    pub curl: f32,
    /// Deviation of the blur of bad focus.
    pub blur: f32,
    /// Length of the trace that a moving hand leaves.
    pub shake: f32,
    /// From 0, even light, to 1, a shadow as dark as ink.
    pub shadow: f32,
    /// From 0, fresh ink, to 1, ink as bright as paper.
    pub faded: f32,
    /// Deviation of the noise, of 255.
    pub noise: f32,
}

impl Default for Look {
    /// A good photo, with 5 pixels for each module.
    fn default() -> Self {
        Self {
            width: 1_200,
            height: 1_600,
            module: 5.0,
            turned: 2.0,
            leaning: 3.0,
            curl: 0.0,
            blur: 0.6,
            shake: 0.0,
            shadow: 0.1,
            faded: 0.05,
            noise: 2.0,
        }
    }
}
