/**
 * What the control API sends, as far as the page reads it (see ../CONTROL.md). Types only.
 *
 * @typedef {{ type: "plain_text" | "mrkdwn", text: string, emoji?: boolean, verbatim?: boolean }} Text
 *
 * @typedef {{ text: Text, value?: string, description?: Text, url?: string }} Option
 *
 * @typedef {{ title: Text, text: Text, confirm: Text, deny: Text, style?: string }} Confirm
 *
 * @typedef {Record<string, any> & { type: string, action_id?: string, confirm?: Confirm }} Element_
 *
 * @typedef {Record<string, any> & { type: string, block_id: string }} Block
 *
 * @typedef {Record<string, Record<string, Record<string, any>>>} Values state.values of Slack
 *
 * @typedef {object} Message
 * @property {string} ts
 * @property {string} user
 * @property {string} text
 * @property {Block[]} [blocks]
 * @property {string} [thread_ts]
 * @property {{ user: string, ts: string }} [edited]
 * @property {boolean} is_ephemeral
 * @property {{ values: Values }} state
 *
 * @typedef {object} Channel
 * @property {string} id
 * @property {string} [name]
 * @property {string} [user]
 * @property {boolean} is_im
 * @property {boolean} is_mpim
 * @property {boolean} is_private
 * @property {boolean} is_archived
 * @property {boolean} is_ext_shared
 * @property {Message[]} messages
 *
 * @typedef {object} View
 * @property {string} id
 * @property {string} hash
 * @property {Block[]} blocks
 * @property {Text | null} title
 * @property {Text | null} submit
 * @property {Text | null} close
 * @property {{ values: Values }} state
 * @property {Record<string, string>} errors
 *
 * @typedef {{ at: number, user: string, text: string, detail: string, channel: string | null }} Notice
 *
 * @typedef {object} Seen what one person sees
 * @property {number} seq
 * @property {Channel[]} channels
 * @property {View[]} views
 * @property {View | null} home
 * @property {Notice[]} notices
 *
 * @typedef {object} User
 * @property {string} id
 * @property {string} name
 * @property {string} real_name
 * @property {boolean} is_bot
 * @property {boolean} deleted
 * @property {boolean} is_restricted
 * @property {string | null} team_id
 *
 * @typedef {{ id: string, name: string, members: string[] }} KnownChannel
 *
 * @typedef {object} Workspace
 * @property {{ id: string, name: string, domain: string }} team
 * @property {{ bot_user: string, name: string, commands: string[], home_enabled: boolean }} app
 * @property {User[]} users
 * @property {KnownChannel[]} channels
 * @property {{ id: string, handle: string, name: string }[]} groups
 *
 * @typedef {{ seq: number, kind: string, user?: string, channel?: string }} Change
 *
 * @typedef {object} Result what came of an act
 * @property {boolean} delivered
 * @property {boolean} acked
 * @property {string} failure
 * @property {number | null} status
 *
 * @typedef {{ channel: string, ts: string } | { view_id: string }} Place where blocks stand
 */

export {};
