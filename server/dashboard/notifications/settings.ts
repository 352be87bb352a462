import { integer, optional } from '../../../core/settings.js';

export const notifyEvery = {
  notifySeconds: integer(
    'PAYMASTER_NOTIFICATION_SECONDS',
    'Seconds between two looks at what receivers of notifications have to be told.',
    { min: 1, max: 3_600 },
    60,
  ),
};

export const notificationSettings = {
  ...notifyEvery,
  notificationDirectory: optional(
    'PAYMASTER_NOTIFICATION_URL_DIR',
    'The directory of files that `urlFile` of notifications names; without it, those are not sent.',
  ),
};
