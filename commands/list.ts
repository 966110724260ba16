import { BaseCommand } from '../src/cli/base-command.js'
import { commonFlags, connectionFlags, outputFlags } from '../src/cli/flags.js'
import { toJson } from '../src/cli/json.js'
import { listColumns } from '../src/cli/views.js'

export default class List extends BaseCommand {
  static override summary = 'List the mirrors of this destination.'
  static override examples = [
    { description: 'All mirrors, their number of topics and their source', command: '<%= config.bin %> list --bootstrap-server :9094' },
    {
      description: 'The names alone, for a script',
      command: "<%= config.bin %> list --bootstrap-server :9094 --no-headers | awk '{print $1}'",
    },
  ]
  static override flags = { ...connectionFlags, ...outputFlags, ...commonFlags }

  async run(): Promise<void> {
    const { flags } = await this.parse(List)
    const admin = await this.admin(flags)
    const { mirrors, warnings } = await admin.listMirrors()
    this.warnings(warnings)
    if (this.wantsJson(flags)) this.print(toJson({ mirrors }))
    else await this.printTable(listColumns, mirrors, flags)
  }
}
