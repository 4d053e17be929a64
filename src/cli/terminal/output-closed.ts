import { Stopped } from '@research-mirror/runtime/service';

/** Why a command ends early: nobody reads what it writes (`… | head -1`, a closed terminal). No message: who would read it? */
export class OutputClosed extends Stopped {
  constructor() {
    super('the output');
  }
}
