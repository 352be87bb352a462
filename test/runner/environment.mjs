import { ModuleMocker } from 'jest-mock';

/** Where test files run: the globals of the worker itself, since `run-file.mjs` loads them without a context of their own. */
export default class ProcessEnvironment {
  global = globalThis;
  // Jest's runtime demands one.
  moduleMocker = new ModuleMocker(globalThis);

  async setup() {}

  async teardown() {}

  getVmContext() {
    return null;
  }
}
