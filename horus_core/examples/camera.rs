//! A camera that watches a red ball in front of a wall: publishes images on `camera/rgb` and the
//! ball's position on `camera/truth`, until Ctrl-C.
//!
//! ```text
//! cargo run --release -p horus_core --example camera [-- --rate HZ]
//! ```
//!
//! `horus_py/examples/detector.py` finds the ball. Every image is drawn in shared memory, where its
//! subscribers read it in place.

use horus_core::message::{BoundingBox2D, Detection, Encoding, Image, ImageHeader, Text};
use horus_core::prelude::*;
use horus_core::scheduler::Rate;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;
const RADIUS: f64 = 28.0;
const RATE_HZ: f64 = 30.0;
/// The angle by which the ball moves along its path between two images, in radians.
const STEP: f64 = 0.05;

/// Returns the ball's centre in image `number`: column and row.
fn ball(number: u64) -> (f64, f64) {
    let angle = STEP * number as f64;
    let x = f64::from(WIDTH) / 2.0;
    let y = f64::from(HEIGHT) / 2.0;
    (x + 250.0 * angle.cos(), y + 170.0 * (2.0 * angle).sin())
}

/// Returns a brick wall, lit from the left.
fn wall() -> Vec<u8> {
    let pixel = |row: u32, column: u32| {
        let brick = (column / 40 + row / 20 % 2 + row / 20) % 3;
        let light = 190 - column / 8 - 12 * brick;
        [light, light - 8, light - 20].map(|channel| channel as u8)
    };
    (0..HEIGHT)
        .flat_map(|row| (0..WIDTH).flat_map(move |column| pixel(row, column)))
        .collect()
}

/// Draws the ball, lit from above, over the image.
fn draw_ball(image: &mut Image<impl AsRef<[u8]> + AsMut<[u8]>>, (x, y): (f64, f64)) {
    for row in (y - RADIUS) as u32..=(y + RADIUS) as u32 {
        for column in (x - RADIUS) as u32..=(x + RADIUS) as u32 {
            let right = f64::from(column) - x;
            let down = f64::from(row) - y;
            if right.hypot(down) < RADIUS
                && let Some(pixel) = image.pixel_mut(column, row)
            {
                pixel.copy_from_slice(&[(215.0 - 1.5 * down) as u8, 40, 35]);
            }
        }
    }
}

/// Returns the rate of the images in hertz, which the command line may give; `None` if the command
/// line is wrong.
fn hertz() -> Option<f64> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(RATE_HZ),
        ["--rate", hertz] => hertz.parse().ok(),
        _ => None,
    }
}

fn main() -> Result<()> {
    let Some(hertz) = hertz() else {
        eprintln!("usage: camera [--rate HZ]");
        std::process::exit(2);
    };
    let mut scheduler = Scheduler::new();
    scheduler.name("camera");
    scheduler.stop_on_signals();
    let mut node = scheduler.node("camera").rate(Rate::hz(hertz).check()?);
    let mut images = node.publisher::<Image>("camera/rgb")?;
    let mut truth = node.publisher::<Detection>("camera/truth")?;
    let wall = wall();
    node.build(move |context: &mut Context<'_>| -> NodeResult {
        let middle = ball(context.tick());
        let mut image = images.loan(ImageHeader::new(WIDTH, HEIGHT, Encoding::RGB8))?;
        image.data_mut().copy_from_slice(&wall);
        draw_ball(&mut image, middle);
        let timestamp_ns = image.timestamp_ns;
        image.publish()?;
        let bbox = BoundingBox2D::new([middle.0, middle.1], 2.0 * RADIUS, 2.0 * RADIUS);
        let ball = Detection::new(Text::literal("ball"), 1.0, bbox);
        truth.send(Detection {
            timestamp_ns,
            ..ball
        })?;
        Ok(())
    })?;
    println!("{WIDTH} x {HEIGHT} pixels, {hertz} times a second");
    scheduler.run()?;
    Ok(())
}
