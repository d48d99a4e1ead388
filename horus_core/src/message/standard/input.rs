//! Input from a joystick or a keyboard.

use crate::message::{Text, clamp_count, timestamp_now_ns};

/// The largest number of axes in a [`JoystickInput`]: a pair of flight sticks with pedals has 12.
pub const JOYSTICK_AXES_MAX: usize = 16;

/// The largest number of buttons in a [`JoystickInput`].
pub const JOYSTICK_BUTTONS_MAX: usize = 32;

crate::message! {
    /// State of a joystick or gamepad, like `sensor_msgs/Joy`.
    #[derive(Default)]
    pub struct JoystickInput {
        /// Time of the reading, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Name of the device, such as `/dev/input/js0`: text.
        pub device: Text<32>,
        /// Number of axes, which are the first elements of `axes`: count.
        pub axis_count: u32,
        /// Number of buttons, which are the first elements of `buttons`: count.
        pub button_count: u32,
        /// Positions of the axes, −1 to 1: no unit.
        pub axes: [f32; JOYSTICK_AXES_MAX],
        /// For each button, 1 while it is pressed, else 0: no unit.
        pub buttons: [u8; JOYSTICK_BUTTONS_MAX],
    }
}
layout! {
    JoystickInput = 144 {
        timestamp_ns: 0, device: 8, axis_count: 40, button_count: 44, axes: 48, buttons: 112,
    }
}

impl JoystickInput {
    /// Returns the axes of the device: the first `axis_count` elements of the array, or all
    /// elements if the sender's count is larger.
    #[must_use]
    pub fn axes(&self) -> &[f32] {
        &self.axes[..clamp_count(self.axis_count, JOYSTICK_AXES_MAX)]
    }

    /// Returns the buttons of the device: the first `button_count` elements of the array, or all
    /// elements if the sender's count is larger.
    #[must_use]
    pub fn buttons(&self) -> &[u8] {
        &self.buttons[..clamp_count(self.button_count, JOYSTICK_BUTTONS_MAX)]
    }

    /// Returns true if a button is pressed, and `false` for a button that the device does not have.
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
        self.buttons()
            .get(button)
            .is_some_and(|pressed| *pressed != 0)
    }
}

crate::message! {
    /// A key that was pressed or released. No ROS type. Keys have the numbers of the USB HID usage
    /// tables, page 7, which do not depend on the layout of the keyboard.
    #[derive(Default)]
    pub struct KeyboardInput {
        /// Time of the event, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of the key, such as 4 for the A of a US keyboard: no unit.
        pub key: u16,
        /// Sum of the `MODIFIER_` constants of the keys that are held: no unit.
        pub modifiers: u16,
        /// One of the `ACTION_` constants: no unit.
        pub action: u8,
        /// Reserved, 0: no unit.
        pub _reserved: [u8; 3],
        /// Text that the key types in the current layout, empty if none: text.
        pub text: Text<8>,
    }

    /// The key was released.
    pub const ACTION_RELEASED: u8 = 0;
    /// The key was pressed.
    pub const ACTION_PRESSED: u8 = 1;
    /// The key is still held, and the keyboard repeats it.
    pub const ACTION_REPEATED: u8 = 2;

    /// A shift key is held.
    pub const MODIFIER_SHIFT: u16 = 1;
    /// A control key is held.
    pub const MODIFIER_CONTROL: u16 = 2;
    /// An alt key is held.
    pub const MODIFIER_ALT: u16 = 4;
    /// A meta key is held: the Windows, Command or Super key.
    pub const MODIFIER_META: u16 = 8;
}
layout! {
    KeyboardInput = 24 {
        timestamp_ns: 0, key: 8, modifiers: 10, action: 12, _reserved: 13, text: 16,
    }
}

impl KeyboardInput {
    /// Returns an event of a key, stamped with the current time.
    #[must_use]
    pub fn new(key: u16, action: u8, modifiers: u16) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            key,
            action,
            modifiers,
            ..Self::default()
        }
    }
}
