import { integer, optional } from '../../../core/settings.js';

export const notificationSettings = {
  notifySeconds: integer(
    'PAYMASTER_NOTIFICATION_SECONDS',
    'Seconds between two looks at what receivers of notifications have to be told.',
    { min: 1, max: 3_600 },
    60,
  ),
  notificationDirectory: optional(
    'PAYMASTER_NOTIFICATION_URL_DIR',
    'The directory of files that `urlFile` of notifications names.',
  ),
};
