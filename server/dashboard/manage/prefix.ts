/** Of what the service document has not. */
export const managePrefix = '/manage/v1';
