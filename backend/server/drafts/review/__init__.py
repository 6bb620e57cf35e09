"""What an owner looks over before a launch: checklist, costs, protection, differences.

Sentences and figures; nothing here changes a draft.
"""
