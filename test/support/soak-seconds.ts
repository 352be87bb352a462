const asked = process.env['PAYMASTER_TEST_OUTAGE_SECONDS'];

/** Whether the fault tests run at full length: `make soak` does, `make test` does not. */
export const isSoak = asked !== undefined;

/** Duration of fault tests that run for a set time: 15 s, or PAYMASTER_TEST_OUTAGE_SECONDS (`make soak`: 60). */
export const soakSeconds = Number(asked ?? 15);
