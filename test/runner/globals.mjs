// Stands in for `@jest/globals`: the functions of the file that runs. Test files and their helpers keep these bindings, which
// follow each change.
export let afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test;

export function setGlobals(globals) {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } = globals);
}
