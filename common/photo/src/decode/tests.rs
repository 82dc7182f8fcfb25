//! Decoded, refused and damaged files; none may panic.

use image::{GrayImage, ImageFormat};
use proptest::prelude::*;
use receipt_photo::{jpeg, webp};

use super::*;

/// A gradient with a dark corner at the top left.
fn picture() -> GrayImage {
    GrayImage::from_fn(48, 32, |x, y| {
        let value = if x < 16 && y < 16 { 0 } else { 100 + 2 * x + y };
        image::Luma([u8::try_from(value).expect("a byte")])
    })
}

fn written(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    image.write_to(&mut file, format).expect("written");
    file.into_inner()
}

fn is_close(luma: &Luma, picture: &GrayImage) -> bool {
    let size = (u32::try_from(luma.width()), u32::try_from(luma.height()));
    size == (Ok(picture.width()), Ok(picture.height()))
        && luma
            .pixels()
            .iter()
            .zip(picture.as_raw())
            .all(|(a, b)| a.abs_diff(*b) < 24)
}

fn png_of(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, content) in chunks {
        let named = [&name[..], content].concat();
        let mut check = u32::MAX;
        for byte in &named {
            check ^= u32::from(*byte);
            for _ in 0..8 {
                check = if check & 1 == 1 {
                    check >> 1 ^ 0xedb8_8320
                } else {
                    check >> 1
                };
            }
        }
        file.extend(u32::try_from(content.len()).expect("short").to_be_bytes());
        file.extend(named);
        file.extend((!check).to_be_bytes());
    }
    file
}

fn png_header(width: u32, height: u32, depth_to_interlace: [u8; 5]) -> Vec<u8> {
    [
        &width.to_be_bytes()[..],
        &height.to_be_bytes(),
        &depth_to_interlace,
    ]
    .concat()
}

fn stored(bytes: &[u8]) -> Vec<u8> {
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    let length = u16::try_from(bytes.len()).expect("short");
    let head = [
        &[0x78, 0x01, 0x01][..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
    ]
    .concat();
    [&head, bytes, &(b << 16 | a).to_be_bytes()].concat()
}

fn webp_of(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut content = b"WEBP".to_vec();
    for (name, chunk) in chunks {
        content.extend_from_slice(*name);
        content.extend(u32::try_from(chunk.len()).expect("short").to_le_bytes());
        content.extend_from_slice(chunk);
        content.extend(vec![0; chunk.len() % 2]);
    }
    [
        &b"RIFF"[..],
        &u32::try_from(content.len()).expect("short").to_le_bytes(),
        &content,
    ]
    .concat()
}

fn exif(orientation: u8) -> Vec<u8> {
    [
        &b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"[..],
        &[orientation],
        &[0; 6],
    ]
    .concat()
}

fn jpeg_with(orientation: u8) -> Vec<u8> {
    let plain = jpeg(&picture(), 90).expect("a photo");
    let exif = [&b"Exif\0\0"[..], &exif(orientation)].concat();
    let length = u16::try_from(exif.len() + 2).expect("short").to_be_bytes();
    [&plain[..2], b"\xff\xe1", &length, &exif, &plain[2..]].concat()
}

/// [`picture`] in each format.
fn in_each_format() -> [Vec<u8>; 3] {
    let files = [
        jpeg(&picture(), 90),
        receipt_photo::png(&picture()),
        webp(&picture()),
    ];
    files.map(|file| file.expect("a photo"))
}

/// The pixels of a file.
fn pixels(file: &[u8]) -> Vec<u8> {
    decode(file).expect("decoded").pixels().to_vec()
}

fn too_many(width: u32, height: u32) -> Result<Luma, NotDecoded> {
    Err(NotDecoded::TooManyPixels { width, height })
}

#[test]
fn the_three_formats_show_the_same_picture() {
    for file in in_each_format() {
        assert!(is_close(&decode(&file).expect("decoded"), &picture()));
    }
}

#[test]
fn a_gray_jpeg_is_as_good() {
    let file = written(&picture().into(), ImageFormat::Jpeg);
    assert!(is_close(&decode(&file).expect("decoded"), &picture()));
}

#[test]
fn what_is_no_image_is_refused() {
    for bytes in [
        &b""[..],
        b"\xff",
        b"hello, I am a receipt",
        b"%PDF-1.7\n",
        b"<svg/>",
        b"GIF89a",
    ] {
        assert_eq!(decode(bytes), Err(NotDecoded::NotAnImage));
    }
    const LARGEST: usize = 5 * 1024 * 1024;
    for (size, fault) in [
        (LARGEST, NotDecoded::NotAnImage),
        (LARGEST + 1, NotDecoded::TooManyBytes),
    ] {
        assert_eq!(decode(&vec![0; size]), Err(fault));
    }
}

#[test]
fn fill_bytes_before_a_marker_of_a_jpeg_are_skipped() {
    let file = jpeg(&picture(), 90).expect("a photo");
    let filled = [&file[..2], b"\xff\xff\xff", &file[2..]].concat();
    assert_eq!(jpeg::size(&filled), Some((48, 32)));
    assert!(is_close(&decode(&filled).expect("a picture"), &picture()));
}

#[test]
fn what_only_begins_like_an_image_is_no_picture() {
    let no_sides = png_of(&[(b"IHDR", png_header(0, 9, [8, 0, 0, 0, 0]))]);
    for bytes in [
        &b"\xff\xd8\xff"[..],
        b"\xff\xd8\xff\xe0 and nothing more",
        b"\xff\xd8\xff\xda\x00\x08\xff\xc0\x00\x0b\x08\x00\x09\x00\x09",
        b"\x89PNG\r\n\x1a\n",
        &no_sides,
        b"RIFF\x04\0\0\0WEBP",
        b"RIFF\x04\0\0\0WEBPVP8X\x0a\0\0\0\0\0",
    ] {
        assert_eq!(decode(bytes), Err(NotDecoded::NoHeader));
    }
    assert!(NotDecoded::NoHeader.is_no_picture() && NotDecoded::NotAnImage.is_no_picture());
}

#[test]
fn a_picture_with_a_size_is_damaged_however_soon_it_goes_wrong() {
    for file in in_each_format() {
        let photo_type = PhotoType::from_magic_bytes(&file).expect("a type");
        let mut told = 0;
        for end in 0..file.len() {
            match decode(&file[..end]) {
                Err(fault @ NotDecoded::Damaged(_)) => {
                    assert!(
                        !fault.is_no_picture() && has_size(photo_type, &file[..end]),
                        "{photo_type:?} {end}"
                    );
                    told += 1;
                }
                Err(NotDecoded::NoHeader) => {
                    assert!(!has_size(photo_type, &file[..end]), "{photo_type:?} {end}")
                }
                Err(NotDecoded::NotAnImage) => assert!(end < 12, "{photo_type:?} {end}"),
                // A file's last bytes may hold no pixels.
                Ok(_) => {}
                Err(other) => panic!("{photo_type:?} {end}: {other}"),
            }
        }
        assert!(told > 0, "{photo_type:?}");
    }
}

#[test]
fn half_a_jpeg_shows_its_upper_half() {
    let photo = GrayImage::from_fn(256, 256, |x, y| {
        image::Luma([if (x / 32 + y / 32) % 2 == 0 { 30 } else { 220 }])
    });
    let file = jpeg(&photo, 90).expect("a photo");
    let luma = decode(&file[..file.len() * 3 / 4]).expect("decoded");
    assert_eq!((luma.width(), luma.height()), (256, 256));
    assert!(luma.pixel(16, 16) < 60 && luma.pixel(48, 16) > 190);
}

#[test]
fn half_a_png_or_webp_is_damaged() {
    let [_, png, webp] = in_each_format();
    for file in [png, webp] {
        let half = decode(&file[..file.len() / 2]);
        assert!(matches!(half, Err(NotDecoded::Damaged(_))));
    }
}

#[test]
fn what_says_that_it_is_huge_is_refused_by_its_header() {
    let png = png_of(&[(b"IHDR", png_header(20_000, 20_000, [8, 2, 0, 0, 0]))]);
    let mut jpeg = jpeg(&picture(), 90).expect("a photo");
    let mut markers = jpeg.windows(2);
    let frame = markers
        .position(|marker| marker == b"\xff\xc0")
        .expect("a frame header");
    jpeg[frame + 5..frame + 9].copy_from_slice(b"\xff\xff\xff\xff");
    let canvas = webp_of(&[(b"VP8X", b"\0\0\0\0\xff\xff\xff\xff\xff\xff")]);
    let lossless = webp_of(&[(b"VP8L", b"\x2f\xff\xff\xff\x0f\0\0\0")]);
    let lossy: &[u8] = b"\x10\0\0\x9d\x01\x2a\xff\x3f\xff\x3f\0\0";
    let inside_a_small_canvas = webp_of(&[(b"VP8X", &[0; 10]), (b"VP8 ", lossy)]);
    for (file, side) in [
        (png, 20_000),
        (jpeg, 65_535),
        (canvas, 1 << 24),
        (lossless, 16_384),
        (inside_a_small_canvas, 16_383),
    ] {
        assert_eq!(decode(&file), too_many(side, side));
    }
}

#[test]
fn each_side_of_a_webp_is_read_from_its_own_bits() {
    // A lossy frame stores each side in 14 bits, below two bits of scaling.
    let lossy = |width: u16, height: u16| {
        let sides = u32::from(width) | 1 << 14 | u32::from(height) << 16 | 1 << 31;
        [&b"\x10\0\0\x9d\x01\x2a"[..], &sides.to_le_bytes()].concat()
    };
    // A lossless frame stores each side less one in 14 bits, then four other bits.
    let lossless = |width: u32, height: u32| {
        let sides = (width - 1) | (height - 1) << 14 | 1 << 28;
        [&b"\x2f"[..], &sides.to_le_bytes()].concat()
    };
    // A canvas stores each side less one in 24 bits.
    let canvases = [
        b"\0\0\0\0\x20\x4e\0\x02\0\0",
        b"\0\0\0\0\x02\0\0\x20\x4e\x01",
    ];
    let [wide, high] = canvases.map(|canvas| canvas.to_vec());
    for (name, header, (width, height)) in [
        (b"VP8X", wide, (20_001, 3)),
        (b"VP8X", high, (3, 85_537)),
        (b"VP8 ", lossy(16_001, 2_502), (16_001, 2_502)),
        (b"VP8 ", lossy(2_502, 16_001), (2_502, 16_001)),
        (b"VP8L", lossless(16_001, 2_502), (16_001, 2_502)),
        (b"VP8L", lossless(2_502, 16_001), (2_502, 16_001)),
    ] {
        assert_eq!(
            decode(&webp_of(&[(name, &header)])),
            too_many(width, height)
        );
    }
}

#[test]
fn the_largest_picture_has_40_million_pixels_and_sides_of_16384() {
    for (width, height) in [(8_000, 5_000), (MAX_SIDE, 1), (1, MAX_SIDE)] {
        let size = Size::bounded(width, height).expect("not too large");
        assert_eq!((size.width, size.height), (width, height));
    }
    for (width, height) in [(8_000, 5_001), (MAX_SIDE + 1, 1), (1, MAX_SIDE + 1)] {
        let fault = NotDecoded::TooManyPixels { width, height };
        assert_eq!(Size::bounded(width, height).err(), Some(fault));
    }
    for (width, height) in [(0, 1), (1, 0)] {
        let bounded = Size::bounded(width, height);
        assert!(matches!(bounded, Err(NotDecoded::Damaged(_))));
    }
}

#[test]
fn each_colour_has_its_share_of_the_gray() {
    let colours = [
        [255, 255, 255],
        [255, 0, 0],
        [0, 255, 0],
        [0, 0, 255],
        [10, 100, 200],
    ];
    let grays = colours.map(brightness);
    assert_eq!(grays, [255, 76, 149, 28, 84]);
    assert_eq!(
        [(100, 255), (100, 128), (100, 0), (0, 255)].map(|(g, a)| on_white(g, a)),
        [100, 177, 255, 0]
    );
}

#[test]
fn a_gray_png_may_be_transparent() {
    let see_through = image::GrayAlphaImage::from_raw(3, 1, vec![10, 255, 10, 0, 90, 255]);
    let file = written(&see_through.expect("three pixels").into(), ImageFormat::Png);
    assert_eq!(pixels(&file), [10, 255, 90]);
}

#[test]
fn an_animation_is_refused() {
    let file = webp_of(&[
        (b"VP8X", b"\x02\0\0\0\x0f\0\0\x0f\0\0"),
        (b"ANIM", &[0; 6]),
        (b"ANMF", &[0; 32]),
    ]);
    assert_eq!(decode(&file), Err(NotDecoded::Animated));
    for chunk in [b"ANIM", b"ANMF"] {
        let not_said = webp_of(&[(b"VP8X", b"\0\0\0\0\x0f\0\0\x0f\0\0"), (chunk, &[0; 32])]);
        assert_eq!(decode(&not_said), Err(NotDecoded::Animated));
    }
}

#[test]
fn what_follows_a_photo_does_not_matter() {
    let photo = jpeg(&picture(), 90).expect("a photo");
    let decoded = decode(&photo);
    for tail in [
        &b"PK\x03\x04\x14\0\0\0"[..],
        b"<html><script>alert(1)</script></html>",
    ] {
        assert_eq!(decode(&[&photo, tail].concat()), decoded);
    }
}

#[test]
fn a_photo_is_turned_as_its_camera_was_held() {
    let upright = decode(&jpeg_with(1)).expect("decoded");
    assert_eq!((upright.width(), upright.height()), (48, 32));
    // Corner for each orientation, the second four as the first: (right, bottom).
    let corners = [(0, 0), (1, 0), (1, 1), (0, 1)];
    for (value, (right, bottom)) in (1..=8).zip(corners.into_iter().cycle()) {
        let luma = decode(&jpeg_with(value)).expect("decoded");
        let size = (luma.width(), luma.height());
        assert_eq!(size, if value >= 5 { (32, 48) } else { (48, 32) });
        let (x, y) = (4 + right * (size.0 - 9), 4 + bottom * (size.1 - 9));
        assert!(luma.pixel(x, y) < 40, "value {value}");
    }
}

#[test]
fn a_png_and_a_webp_say_how_they_are_turned_too() {
    let pixels = stored(&[0, 10, 20, 30]);
    let header = png_header(3, 1, [8, 0, 0, 0, 0]);
    let turned = png_of(&[
        (b"IHDR", header),
        (b"eXIf", exif(6)),
        (b"IDAT", pixels),
        (b"IEND", vec![]),
    ]);
    assert_eq!(
        decode(&turned).expect("decoded"),
        Luma::new(1, 3, vec![10, 20, 30]).expect("an image")
    );

    let plain = webp(&picture()).expect("a photo");
    let lossless = &plain[20..];
    let length = u32::from_le_bytes(plain[16..20].try_into().expect("four bytes"));
    let lossless = &lossless[..usize::try_from(length).expect("short")];
    let canvas: &[u8] = b"\x08\0\0\0\x2f\0\0\x1f\0\0";
    let turned = webp_of(&[(b"VP8X", canvas), (b"VP8L", lossless), (b"EXIF", &exif(8))]);
    let upright = decode(&plain).expect("decoded").pixels().to_vec();
    let upright = GrayImage::from_raw(48, 32, upright).expect("an image");
    let expected = image::imageops::rotate270(&upright).into_raw();
    let expected = Luma::new(32, 48, expected).expect("an image");
    assert_eq!(decode(&turned).expect("decoded"), expected);
}

#[test]
fn sixteen_bits_and_palettes_are_decoded() {
    let sixteen = DynamicImage::from(picture()).to_luma16();
    assert!(is_close(
        &decode(&written(&sixteen.into(), ImageFormat::Png)).expect("decoded"),
        &picture()
    ));
    let palette = png_of(&[
        (b"IHDR", png_header(2, 1, [8, 3, 0, 0, 0])),
        (b"PLTE", vec![0, 0, 0, 255, 255, 255]),
        (b"IDAT", stored(&[0, 1, 0])),
        (b"IEND", vec![]),
    ]);
    assert_eq!(pixels(&palette), [255, 0]);
}

#[test]
fn an_interlaced_png_is_put_in_order() {
    // Passes of a 2 x 2 image: first pixel, the one to its right, second row.
    let interlaced = png_of(&[
        (b"IHDR", png_header(2, 2, [8, 0, 0, 0, 1])),
        (b"IDAT", stored(&[0, 10, 0, 20, 0, 30, 40])),
        (b"IEND", vec![]),
    ]);
    assert_eq!(pixels(&interlaced), [10, 20, 30, 40]);
}

#[test]
fn what_shines_through_is_white_paper() {
    let see_through = image::RgbaImage::from_fn(2, 1, |x, _| {
        image::Rgba([0, 0, 0, if x == 0 { 255 } else { 0 }])
    });
    for format in [ImageFormat::Png, ImageFormat::WebP] {
        let file = written(&see_through.clone().into(), format);
        assert_eq!(pixels(&file), [0, 255]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_panic(
        start in prop::sample::select(vec![
            &b""[..], b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"RIFF\xff\0\0\0WEBPVP8 ", b"RIFF\xff\0\0\0WEBPVP8L",
            b"RIFF\xff\0\0\0WEBPVP8X",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..512),
    ) {
        let _ = decode(&[start, &rest].concat());
    }

    #[test]
    fn no_damage_panics(
        format in 0..3_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
                let mut file = in_each_format()[format].clone();
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        let _ = decode(&file);
        let _ = decode(&file[..end.index(file.len())]);
    }
}
