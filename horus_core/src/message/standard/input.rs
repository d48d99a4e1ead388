//! What a person does with a joystick or a keyboard.

use crate::message::{Text, clamped, timestamp_now_ns};

/// The most axes in a [`JoystickInput`]: a pair of flight sticks with pedals has 12.
pub const JOYSTICK_AXES_MAX: usize = 16;

/// The most buttons in a [`JoystickInput`].
pub const JOYSTICK_BUTTONS_MAX: usize = 32;

crate::message! {
    /// State of a joystick or gamepad, as `sensor_msgs/Joy`.
    #[derive(Default)]
    pub struct JoystickInput {
        /// When it was read, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Which one, as `/dev/input/js0`: text.
        pub device: Text<32>,
        /// How many axes it has, from the first: count.
        pub axis_count: u32,
        /// How many buttons it has, from the first: count.
        pub button_count: u32,
        /// −1 to 1: no unit.
        pub axes: [f32; JOYSTICK_AXES_MAX],
        /// 1 while pressed, else 0: no unit.
        pub buttons: [u8; JOYSTICK_BUTTONS_MAX],
    }
}
layout! {
    JoystickInput = 144 {
        timestamp_ns: 0, device: 8, axis_count: 40, button_count: 44, axes: 48, buttons: 112,
    }
}

impl JoystickInput {
    /// The axes that it has: the first `axis_count`, or all if a peer claims more.
    #[must_use]
    pub fn axes(&self) -> &[f32] {
        &self.axes[..clamped(self.axis_count, JOYSTICK_AXES_MAX)]
    }

    /// The buttons that it has: the first `button_count`, or all if a peer claims more.
    #[must_use]
    pub fn buttons(&self) -> &[u8] {
        &self.buttons[..clamped(self.button_count, JOYSTICK_BUTTONS_MAX)]
    }

    /// Whether a button is pressed; `false` for one that it does not have.
    ///
    /// ```
    /// use horus_core::message::JoystickInput;
    ///
    /// let mut joystick = JoystickInput { button_count: 2, ..JoystickInput::default() };
    /// joystick.buttons[1] = 1;
    /// assert!(joystick.is_pressed(1) && !joystick.is_pressed(0) && !joystick.is_pressed(99));
    /// ```
    #[must_use]
    pub fn is_pressed(&self, button: usize) -> bool {
        self.buttons().get(button).is_some_and(|pressed| *pressed != 0)
    }
}

crate::message! {
    /// A key that was pressed or released. No ROS type; keys have the numbers of the USB HID usage
    /// tables, page 7, which do not depend on the layout of the keyboard.
    #[derive(Default)]
    pub struct KeyboardInput {
        /// When it happened, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Which key, as 4 for the one that types an A in the United States: no unit.
        pub key: u16,
        /// The `MODIFIER_` constants of the keys that are held, added: no unit.
        pub modifiers: u16,
        /// One of the `ACTION_` constants: no unit.
        pub action: u8,
        /// 0: no unit.
        pub _reserved: [u8; 3],
        /// What it types by the layout in use, if anything: text.
        pub text: Text<8>,
    }

    /// Let go.
    pub const ACTION_RELEASED: u8 = 0;
    /// Pressed.
    pub const ACTION_PRESSED: u8 = 1;
    /// Still held, repeated by the keyboard.
    pub const ACTION_REPEATED: u8 = 2;

    /// A shift key.
    pub const MODIFIER_SHIFT: u16 = 1;
    /// A control key.
    pub const MODIFIER_CONTROL: u16 = 2;
    /// An alternate key.
    pub const MODIFIER_ALT: u16 = 4;
    /// A key with a logo on it.
    pub const MODIFIER_META: u16 = 8;
}
layout! {
    KeyboardInput = 24 {
        timestamp_ns: 0, key: 8, modifiers: 10, action: 12, _reserved: 13, text: 16,
    }
}

impl KeyboardInput {
    /// What happened to a key, stamped with the current time.
    #[must_use]
    pub fn new(key: u16, action: u8, modifiers: u16) -> Self {
        Self { timestamp_ns: timestamp_now_ns(), key, action, modifiers, ..Self::default() }
    }
}
