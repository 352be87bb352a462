const asked = process.env['PAYMASTER_TEST_OUTAGE_SECONDS'];

/** Whether the fault tests run at full length: `make soak` does, `make test` does not. */
export const isSoak = asked !== undefined;

/** How long the fault tests that run for a time go on: 15 s, unless PAYMASTER_TEST_OUTAGE_SECONDS asks for more (`make soak`: 60). */
export const soakSeconds = Number(asked ?? 15);
