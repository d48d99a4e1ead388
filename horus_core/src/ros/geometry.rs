//! Maps messages to the ROS types of `geometry_msgs`.

use super::wire::{self, RosField};
use super::{CdrError, CdrReader, CdrWriteError, CdrWriter, FromCdr, RosHeader, RosMessage};
use crate::message::{
    Accel, CmdVel, Point3, Pose2D, Pose3D, PoseStamped, PoseWithCovariance, Quaternion, Transform,
    TransformStamped, Twist, TwistWithCovariance, Vector3, Wrench, WrenchStamped,
};

/// A wrapper that sends a message as a ROS type without a header. The message's time is not
/// written, and is read as 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Unstamped<M> {
    /// The message that is written and read without its time.
    pub message: M,
}

ros_message! {
    Point3 = "geometry_msgs/msg/Point", () {
        float64 x;
        float64 y;
        float64 z;
    }
}

ros_message! {
    Vector3 = "geometry_msgs/msg/Vector3", () {
        float64 x;
        float64 y;
        float64 z;
    }
}

ros_message! {
    Quaternion = "geometry_msgs/msg/Quaternion", () {
        float64 x;
        float64 y;
        float64 z;
        float64 w;
    }
}

ros_message! {
    Transform = "geometry_msgs/msg/Transform", () {
        Vector3 translation;
        Quaternion rotation;
    }
}

ros_message! {
    Pose2D = "geometry_msgs/msg/Pose2D", () {
        float64 x;
        float64 y;
        float64 theta;
    }
}

ros_message! {
    Pose3D = "geometry_msgs/msg/Pose", () {
        Point position;
        Quaternion orientation;
    }
}

ros_message! {
    PoseStamped = "geometry_msgs/msg/PoseStamped", () {
        Header header;
        Point pose.position = position;
        Quaternion pose.orientation = orientation;
    }
}

ros_message! {
    PoseWithCovariance = "geometry_msgs/msg/PoseWithCovarianceStamped", RosHeader {
        Header header in frames;
        Point pose.pose.position = position;
        Quaternion pose.pose.orientation = orientation;
        float64[36] pose.covariance = covariance;
    }
}

ros_message! {
    CmdVel = "geometry_msgs/msg/Twist", () {
        float64_stored_as_f32 linear.x = linear;
        zero float64 linear.y;
        zero float64 linear.z;
        zero float64 angular.x;
        zero float64 angular.y;
        float64_stored_as_f32 angular.z = angular;
    }
}

ros_message! {
    Unstamped<Twist> = "geometry_msgs/msg/Twist", () {
        Vector3 linear = message.linear;
        Vector3 angular = message.angular;
    }
}

ros_message! {
    Twist = "geometry_msgs/msg/TwistStamped", RosHeader {
        Header header in frames;
        Vector3 twist.linear = linear;
        Vector3 twist.angular = angular;
    }
}

ros_message! {
    TwistWithCovariance = "geometry_msgs/msg/TwistWithCovarianceStamped", RosHeader {
        Header header in frames;
        Vector3 twist.twist.linear = linear;
        Vector3 twist.twist.angular = angular;
        float64[36] twist.covariance = covariance;
    }
}

ros_message! {
    Accel = "geometry_msgs/msg/AccelStamped", RosHeader {
        Header header in frames;
        Vector3 accel.linear = linear;
        Vector3 accel.angular = angular;
    }
}

ros_message! {
    TransformStamped = "geometry_msgs/msg/TransformStamped", () {
        Header header;
        string child_frame_id;
        Vector3 transform.translation = translation;
        Quaternion transform.rotation = rotation;
    }
}

ros_message! {
    Wrench = "geometry_msgs/msg/Wrench", () {
        Vector3 force;
        Vector3 torque;
    }
}

ros_message! {
    WrenchStamped = "geometry_msgs/msg/WrenchStamped", () {
        Header header;
        Vector3 wrench.force = force;
        Vector3 wrench.torque = torque;
    }
}
