//! The look of a photo: hand, light, paper and phone.

/// Lengths are in pixels of the photo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub width: u32,
    pub height: u32,
    pub module: f32,
    /// Degrees.
    pub turned: f32,
    /// Angle to the paper, in degrees.
    pub leaning: f32,
    /// Height of waves.
    pub curl: f32,
    /// Standard deviation out of focus.
    pub blur: f32,
    /// Length of the motion blur.
    pub shake: f32,
    /// Even light is 0, a shadow as dark as ink 1.
    pub shadow: f32,
    /// Fresh ink is 0, ink as bright as paper 1.
    pub faded: f32,
    /// Standard deviation, out of 255.
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
