/** How long the fault tests that run for a time go on: 15 s, unless SOAK_SECONDS asks for more (`make soak`: 60). */
export const soakSeconds = Number(process.env['SOAK_SECONDS'] ?? 15);
