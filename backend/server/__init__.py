"""Everything of the server below the web: hosts of tasks, drafts, accounts, estimates, exports.

No handler, no template and no TensorFlow; peers import nothing from here.
"""
