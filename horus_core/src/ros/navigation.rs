//! Maps messages to the ROS types of `nav_msgs` and `rosgraph_msgs`.

use super::wire::{self, RosField};
use super::{CdrError, CdrReader, CdrWriteError, CdrWriter, FromCdr, RosFrames, RosMessage};
use crate::message::{
    Clock, Framed, MapMetaData, NAV_PATH_WAYPOINTS_MAX, NavPath, OccupancyGridHeader, Odometry,
    PoseStamped, Waypoint,
};

ros_message! {
    Odometry = "nav_msgs/msg/Odometry", RosFrames {
        Header header in frames;
        string child_frame_id in frames;
        Point pose.pose.position = position;
        Quaternion pose.pose.orientation = orientation;
        float64[36] pose.covariance = pose_covariance;
        Vector3 twist.twist.linear = linear;
        Vector3 twist.twist.angular = angular;
        float64[36] twist.covariance = twist_covariance;
    }
}

ros_message! {
    MapMetaData = "nav_msgs/msg/MapMetaData", () {
        time map_load_time = map_load_time_ns;
        float32 resolution;
        uint32 width;
        uint32 height;
        Point origin.position = origin_position;
        Quaternion origin.orientation = origin_orientation;
    }
}

ros_message! {
    framed OccupancyGridHeader = "nav_msgs/msg/OccupancyGrid", () {
        Header header;
        MapMetaData info;
        int8[] data;
    }
}

ros_message! {
    Clock = "rosgraph_msgs/msg/Clock", () {
        time clock = clock_ns;
        absent rate = 1.0;
    }
}

// WHY not with `ros_message!`: every pose has a header, and a waypoint has none.
impl RosMessage for NavPath {
    const TYPE: &'static str = "nav_msgs/msg/Path";
    type FrameNames = ();

    fn write_cdr(&self, (): &(), out: &mut CdrWriter<'_>) -> Result<(), CdrWriteError> {
        let Self {
            timestamp_ns,
            frame_id,
            ..
        } = *self;
        wire::time::write(&timestamp_ns, "header.stamp", out)?;
        wire::string::write(&frame_id, "header.frame_id", out)?;
        let field = "poses";
        let found = self.count as usize;
        let limit = NAV_PATH_WAYPOINTS_MAX;
        let too_long = CdrWriteError::TooLong {
            field,
            found,
            limit,
            of: "elements",
        };
        let waypoints = self.waypoints.get(..found).ok_or(too_long)?;
        out.count(found)?;
        waypoints.iter().try_for_each(|waypoint| {
            let Waypoint {
                position,
                orientation,
                ..
            } = *waypoint;
            PoseStamped {
                timestamp_ns,
                frame_id,
                position,
                orientation,
            }
            .write_cdr(&(), out)
        })
    }
}

impl FromCdr for NavPath {
    fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, ()), CdrError> {
        let mut path = Self::default();
        wire::time::read(&mut path.timestamp_ns, "header.stamp", from)?;
        wire::string::read(&mut path.frame_id, "header.frame_id", from)?;
        let at = from.next_length_offset();
        let found = from.count(size_of::<[f64; 7]>())?;
        let field = "poses";
        let limit = NAV_PATH_WAYPOINTS_MAX;
        let too_long = CdrError::TooLong {
            at,
            field,
            found,
            limit,
            of: "elements",
        };
        let waypoints = path.waypoints.get_mut(..found).ok_or(too_long)?;
        path.count = found as u32;
        for waypoint in waypoints {
            let (pose, ()) = PoseStamped::read_cdr(from)?;
            if pose.frame_id != path.frame_id && !pose.frame_id.is_empty() {
                let field = "poses.header.frame_id";
                let found = format!("{:?}", pose.frame_id);
                return Err(CdrError::NotRepresentable {
                    at: from.at(),
                    field,
                    found,
                });
            }
            *waypoint = Waypoint::new(pose.position, pose.orientation, f64::NAN);
        }
        Ok((path, ()))
    }
}
