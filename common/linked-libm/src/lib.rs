//! Mathematics within the program.
//!
//! Some of what the service is built of names a symbol of the system's library of mathematics: the adaptive retries
//! of the AWS SDK, which are not used here, and a reader of QR codes. For these alone every start on Lambda would
//! load that library, which is a tenth of it. Here the linker finds them first, under the names of C, as C99 (7.12)
//! declares them.
#![expect(unsafe_code, reason = "a symbol of this name is expected to be this function, and is")]

/// `x` to the power of `y`.
#[unsafe(no_mangle)]
pub extern "C" fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// The length of the vector of `x` and `y`.
#[unsafe(no_mangle)]
pub extern "C" fn hypotf(x: f32, y: f32) -> f32 {
    libm::hypotf(x, y)
}

#[cfg(test)]
mod tests {
    use super::{hypotf, pow};

    #[test]
    fn powers_are_those_of_arithmetic() {
        assert_eq!(pow(2.0, 10.0), 1_024.0);
        assert_eq!(pow(4.0, -0.5), 0.5);
        assert!((pow(27.0, 1.0 / 3.0) - 3.0).abs() < 1e-15);
        assert!(pow(-1.0, 0.5).is_nan());
    }

    #[test]
    fn lengths_are_those_of_pythagoras_and_never_overflow_on_the_way() {
        assert_eq!(hypotf(3.0, -4.0), 5.0);
        assert_eq!(hypotf(3e38, 0.0), 3e38);
    }
}
