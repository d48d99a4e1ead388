//! Maps messages to the ROS types of `sensor_msgs`.

use super::wire::{self, RosField};
use super::{CdrError, CdrReader, CdrWriteError, CdrWriter, FromCdr, RosHeader, RosMessage};
use crate::message::{
    BatteryState, CameraInfo, CompressedImageHeader, FluidPressure, Framed, Illuminance,
    ImageHeader, Imu, JointState, LaserScan, MagneticField, NavSatFix, PointCloudHeader,
    PointField, RangeSensor, RegionOfInterest, Temperature, TimeReference,
};

ros_message! {
    Imu = "sensor_msgs/msg/Imu", RosHeader {
        Header header in frames;
        Quaternion orientation;
        float64[9] orientation_covariance;
        Vector3 angular_velocity;
        float64[9] angular_velocity_covariance;
        Vector3 linear_acceleration;
        float64[9] linear_acceleration_covariance;
    }
}

ros_message! {
    LaserScan = "sensor_msgs/msg/LaserScan", RosHeader {
        Header header in frames;
        float32 angle_min;
        float32 angle_max;
        float32 angle_increment;
        float32 time_increment;
        float32 scan_time;
        float32 range_min;
        float32 range_max;
        float32[<=count] ranges;
        ignored float32[] intensities;
    }
}

ros_message! {
    RangeSensor = "sensor_msgs/msg/Range", RosHeader {
        Header header in frames;
        uint8 radiation_type;
        float32 field_of_view;
        float32 min_range;
        float32 max_range;
        float32 range;
        float32 variance;
    }
}

ros_message! {
    JointState = "sensor_msgs/msg/JointState", RosHeader {
        Header header in frames;
        each count {
            string[] name;
            float64[] position;
            float64[] velocity;
            float64[] effort;
        }
    }
}

ros_message! {
    BatteryState = "sensor_msgs/msg/BatteryState", RosHeader {
        Header header in frames;
        float32 voltage;
        float32 temperature;
        float32 current;
        float32 charge;
        float32 capacity;
        float32 design_capacity;
        float32 percentage;
        uint8 power_supply_status;
        uint8 power_supply_health;
        uint8 power_supply_technology;
        bool present;
        each cell_count {
            float32[] cell_voltage;
            float32[] cell_temperature;
        }
        string location;
        string serial_number;
    }
}

ros_message! {
    NavSatFix = "sensor_msgs/msg/NavSatFix", RosHeader {
        Header header in frames;
        int8 status.status = status;
        uint16 status.service = service;
        float64 latitude;
        float64 longitude;
        float64 altitude;
        float64[9] position_covariance;
        uint8 position_covariance_type;
    }
}

ros_message! {
    MagneticField = "sensor_msgs/msg/MagneticField", RosHeader {
        Header header in frames;
        Vector3 magnetic_field;
        float64[9] magnetic_field_covariance;
    }
}

ros_message! {
    Temperature = "sensor_msgs/msg/Temperature", RosHeader {
        Header header in frames;
        float64 temperature;
        float64 variance;
    }
}

ros_message! {
    FluidPressure = "sensor_msgs/msg/FluidPressure", RosHeader {
        Header header in frames;
        float64 fluid_pressure;
        float64 variance;
    }
}

ros_message! {
    Illuminance = "sensor_msgs/msg/Illuminance", RosHeader {
        Header header in frames;
        float64 illuminance;
        float64 variance;
    }
}

ros_message! {
    TimeReference = "sensor_msgs/msg/TimeReference", RosHeader {
        Header header in frames;
        time time_ref = time_ref_ns;
        string source;
    }
}

ros_message! {
    RegionOfInterest = "sensor_msgs/msg/RegionOfInterest", () {
        uint32 x_offset;
        uint32 y_offset;
        uint32 height;
        uint32 width;
        bool do_rectify;
    }
}

ros_message! {
    CameraInfo = "sensor_msgs/msg/CameraInfo", () {
        Header header;
        uint32 height;
        uint32 width;
        string distortion_model;
        float64[<=d_count] d;
        float64[9] k;
        float64[9] r;
        float64[12] p;
        uint32 binning_x;
        uint32 binning_y;
        RegionOfInterest roi;
    }
}

ros_message! {
    framed ImageHeader = "sensor_msgs/msg/Image", () {
        Header header;
        uint32 height;
        uint32 width;
        string encoding;
        uint8 is_bigendian;
        uint32 step;
        uint8[] data;
    }
}

ros_message! {
    framed CompressedImageHeader = "sensor_msgs/msg/CompressedImage", () {
        Header header;
        string format;
        uint8[] data = bytes;
    }
}

ros_message! {
    PointField = "sensor_msgs/msg/PointField", () {
        string name;
        uint32 offset;
        point_field_datatype datatype = dtype;
        uint32 count;
    }
}

ros_message! {
    framed PointCloudHeader = "sensor_msgs/msg/PointCloud2", () {
        Header header;
        uint32 height;
        uint32 width;
        PointField[<=field_count] fields;
        bool is_bigendian;
        uint32 point_step;
        uint32 row_step;
        uint8[] data;
        bool is_dense;
    }
}
