-- Named for what it does. Triggers keep their function under its new name.
alter function tell_change() rename to notify_change;
