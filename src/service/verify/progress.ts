import type { VerifyProgress } from './types.js'

/** How far a verification is, over all partitions. */
export class ProgressBook {
  private state = { partitions: 0, partitionsDone: 0, offsets: 0, offsetsDone: 0, bytes: 0, differences: 0 }

  constructor(private readonly told: ((progress: VerifyProgress) => void) | undefined) {}

  begin(partitions: number, offsets: number): void {
    this.change({ partitions, offsets })
  }

  moved(offsets: number, bytes: number): void {
    const { offsetsDone, bytes: before } = this.state
    this.change({ offsetsDone: offsetsDone + offsets, bytes: before + bytes })
  }

  partitionDone(): void {
    this.change({ partitionsDone: this.state.partitionsDone + 1 })
  }

  difference(): void {
    this.change({ differences: this.state.differences + 1 })
  }

  private change(change: Partial<VerifyProgress>): void {
    Object.assign(this.state, change)
    this.told?.({ ...this.state })
  }
}
