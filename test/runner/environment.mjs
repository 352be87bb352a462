import { ModuleMocker } from 'jest-mock';
import { beginTimes } from './times.mjs';

/** Where test files run: the globals of the worker itself, since `run-file.mjs` loads them without a context of their own. */
export default class ProcessEnvironment {
  global = globalThis;
  // Jest's runtime demands one.
  moduleMocker = new ModuleMocker(globalThis);
  #exit = process.exit;
  #console = console;
  #file;
  #endTimes;

  constructor({ projectConfig }, { testPath }) {
    this.#file = testPath.slice(projectConfig.rootDir.length + 1);
  }

  async setup() {
    this.#endTimes = beginTimes(this.#file);
  }

  async teardown() {
    this.#endTimes();
    // For the time of a file Jest puts its own in their place.
    process.exit = this.#exit;
    globalThis.console = this.#console;
  }

  getVmContext() {
    return null;
  }
}
