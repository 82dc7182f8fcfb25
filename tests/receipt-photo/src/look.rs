//! The look of a photo: the effects of hand, light, paper and phone.

/// Lengths are in pixels of the photo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub width: u32,
    pub height: u32,
    /// The side of a QR module.
    pub module: f32,
    /// Rotation of the receipt, in degrees.
    pub turned: f32,
    /// Angle between phone and paper, in degrees.
    pub leaning: f32,
    /// Height of the waves in the paper.
    pub curl: f32,
    /// Standard deviation of the out-of-focus blur.
    pub blur: f32,
    /// Length of the motion blur.
    pub shake: f32,
    /// From 0, even light, to 1, a shadow as dark as ink.
    pub shadow: f32,
    /// From 0, fresh ink, to 1, ink as bright as paper.
    pub faded: f32,
    /// Standard deviation of the noise, out of 255.
    pub noise: f32,
}

impl Default for Look {
    /// A good photo with 5 pixels per module.
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
