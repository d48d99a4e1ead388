//! Maps messages to the ROS types of `diagnostic_msgs`.

use super::wire::{self, RosField};
use super::{CdrError, CdrReader, CdrWriteError, CdrWriter, FromCdr, RosMessage};
use crate::message::{DiagnosticStatus, DiagnosticValue};

ros_message! {
    DiagnosticValue = "diagnostic_msgs/msg/KeyValue", () {
        string key;
        string value;
    }
}

ros_message! {
    DiagnosticStatus = "diagnostic_msgs/msg/DiagnosticStatus", () {
        byte level;
        string name;
        string message;
        string hardware_id;
        KeyValue[<=count] values;
    }
}
