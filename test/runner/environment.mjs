import { ModuleMocker } from 'jest-mock';

/** Where test files run: the globals of the worker itself, since `run-file.mjs` loads them without a context of their own. */
export default class ProcessEnvironment {
  global = globalThis;
  // Jest's runtime demands one.
  moduleMocker = new ModuleMocker(globalThis);
  #exit = process.exit;
  #console = console;

  async setup() {}

  async teardown() {
    // For the time of a file Jest puts its own in their place.
    process.exit = this.#exit;
    globalThis.console = this.#console;
  }

  getVmContext() {
    return null;
  }
}
