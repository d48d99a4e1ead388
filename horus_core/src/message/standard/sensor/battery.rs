//! The state of a battery, after `sensor_msgs`.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::{Text, clamp_count};

/// The largest number of cells in a [`BatteryState`]. 16 cells of lithium iron phosphate in series
/// make 51 V, the usual pack of a mobile robot.
pub const BATTERY_CELLS_MAX: usize = 16;

crate::message! {
    /// State of a battery, like `sensor_msgs/BatteryState`. NaN marks a value that is not measured.
    pub struct BatteryState {
        /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Voltage: volts.
        pub voltage: f32,
        /// Temperature: degrees Celsius.
        pub temperature: f32,
        /// Current, negative when discharging: amperes.
        pub current: f32,
        /// Remaining charge: ampere-hours.
        pub charge: f32,
        /// Present capacity when full: ampere-hours.
        pub capacity: f32,
        /// Capacity when new: ampere-hours.
        pub design_capacity: f32,
        /// Charge relative to the capacity, 0 to 1: no unit.
        pub percentage: f32,
        /// One of the `POWER_SUPPLY_STATUS_` constants: no unit.
        pub power_supply_status: u8,
        /// One of the `POWER_SUPPLY_HEALTH_` constants: no unit.
        pub power_supply_health: u8,
        /// One of the `POWER_SUPPLY_TECHNOLOGY_` constants: no unit.
        pub power_supply_technology: u8,
        /// 1 if there is a battery, else 0: no unit.
        pub present: u8,
        /// Number of measured cells, which are the first elements of each array: count.
        pub cell_count: u32,
        /// Reserved, 0: no unit.
        pub _reserved: u32,
        /// Voltage of each cell: volts.
        pub cell_voltage: [f32; BATTERY_CELLS_MAX],
        /// Temperature of each cell: degrees Celsius.
        pub cell_temperature: [f32; BATTERY_CELLS_MAX],
        /// Place of the battery, such as the name of its slot: text.
        pub location: Text<32>,
        /// Serial number on the label: text.
        pub serial_number: Text<32>,
    }

    /// The status is unknown.
    pub const POWER_SUPPLY_STATUS_UNKNOWN: u8 = 0;
    /// The battery is being charged.
    pub const POWER_SUPPLY_STATUS_CHARGING: u8 = 1;
    /// The battery is being discharged.
    pub const POWER_SUPPLY_STATUS_DISCHARGING: u8 = 2;
    /// The battery is connected and not being charged.
    pub const POWER_SUPPLY_STATUS_NOT_CHARGING: u8 = 3;
    /// The battery is fully charged.
    pub const POWER_SUPPLY_STATUS_FULL: u8 = 4;

    /// The health is unknown.
    pub const POWER_SUPPLY_HEALTH_UNKNOWN: u8 = 0;
    /// The battery is healthy.
    pub const POWER_SUPPLY_HEALTH_GOOD: u8 = 1;
    /// The battery is too hot.
    pub const POWER_SUPPLY_HEALTH_OVERHEAT: u8 = 2;
    /// The battery does not work any more.
    pub const POWER_SUPPLY_HEALTH_DEAD: u8 = 3;
    /// The voltage is too high.
    pub const POWER_SUPPLY_HEALTH_OVERVOLTAGE: u8 = 4;
    /// The battery failed in a way that has no number here.
    pub const POWER_SUPPLY_HEALTH_UNSPEC_FAILURE: u8 = 5;
    /// The battery is too cold.
    pub const POWER_SUPPLY_HEALTH_COLD: u8 = 6;
    /// The watchdog of the battery expired.
    pub const POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE: u8 = 7;
    /// The safety timer of the battery expired.
    pub const POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE: u8 = 8;

    /// The technology has no number here.
    pub const POWER_SUPPLY_TECHNOLOGY_UNKNOWN: u8 = 0;
    /// Nickel metal hydride.
    pub const POWER_SUPPLY_TECHNOLOGY_NIMH: u8 = 1;
    /// Lithium ion.
    pub const POWER_SUPPLY_TECHNOLOGY_LION: u8 = 2;
    /// Lithium polymer.
    pub const POWER_SUPPLY_TECHNOLOGY_LIPO: u8 = 3;
    /// Lithium iron phosphate.
    pub const POWER_SUPPLY_TECHNOLOGY_LIFE: u8 = 4;
    /// Nickel cadmium.
    pub const POWER_SUPPLY_TECHNOLOGY_NICD: u8 = 5;
    /// Lithium manganese.
    pub const POWER_SUPPLY_TECHNOLOGY_LIMN: u8 = 6;
    /// Lithium with nickel, manganese or aluminium, and cobalt.
    pub const POWER_SUPPLY_TECHNOLOGY_TERNARY: u8 = 7;
}
layout! {
    BatteryState = 240 {
        timestamp_ns: 0, voltage: 8, temperature: 12, current: 16, charge: 20, capacity: 24,
        design_capacity: 28, percentage: 32, power_supply_status: 36, power_supply_health: 37,
        power_supply_technology: 38, present: 39, cell_count: 40, _reserved: 44, cell_voltage: 48,
        cell_temperature: 112, location: 176, serial_number: 208,
    }
}

impl BatteryState {
    /// Returns the voltages of the measured cells, in volts: the first `cell_count` elements of the
    /// array, or all elements if the sender's count is larger.
    #[must_use]
    pub fn cell_voltages(&self) -> &[f32] {
        &self.cell_voltage[..clamp_count(self.cell_count, BATTERY_CELLS_MAX)]
    }

    /// Returns the temperatures of the measured cells, in degrees Celsius: the first `cell_count`
    /// elements of the array, or all elements if the sender's count is larger.
    #[must_use]
    pub fn cell_temperatures(&self) -> &[f32] {
        &self.cell_temperature[..clamp_count(self.cell_count, BATTERY_CELLS_MAX)]
    }
}

impl Default for BatteryState {
    /// Returns a state without a battery, with nothing measured and time 0.
    fn default() -> Self {
        Self {
            voltage: f32::NAN,
            temperature: f32::NAN,
            current: f32::NAN,
            charge: f32::NAN,
            capacity: f32::NAN,
            design_capacity: f32::NAN,
            percentage: f32::NAN,
            ..Self::zeroed()
        }
    }
}

impl fmt::Display for BatteryState {
    /// Formats the measured values like `72 %, 25.1 V, -3.4 A, discharging`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.present == 0 {
            return f.write_str("no battery");
        }
        if !self.percentage.is_nan() {
            write!(f, "{:.0} %, ", self.percentage * 100.0)?;
        }
        if !self.voltage.is_nan() {
            write!(f, "{:.1} V, ", self.voltage)?;
        }
        if !self.current.is_nan() {
            write!(f, "{:.1} A, ", self.current)?;
        }
        f.write_str(match self.power_supply_status {
            Self::POWER_SUPPLY_STATUS_CHARGING => "charging",
            Self::POWER_SUPPLY_STATUS_DISCHARGING => "discharging",
            Self::POWER_SUPPLY_STATUS_NOT_CHARGING => "not charging",
            Self::POWER_SUPPLY_STATUS_FULL => "full",
            _ => "status unknown",
        })
    }
}
